// The workbench as a person uses it. A test file under test/ui starts one so:
//
//   test("what is tested", async (t) => {
//     const w = await workbench(t, { files: { "a.agentls.md": "" }, settings: {}, mcp: {}, trusted: true });
//     await w.command("agentls: Ask…");             // by its exact title in the palette
//     await w.input("Prompt", "SAY hello");          // an input box: a text in it or above it, what to type
//     await w.pick("world.md");                      // a row of a quick pick
//     await w.toast("asks").waitFor();               // Playwright locators wait by themselves; for all else: w.until
//     await w.panel().getByText("hello").waitFor();  // inside of the chat view
//     await w.until("the call", () => w.world.received("tools/call")[0]);
//
// Each call makes a fresh world (world.ts: project, provider, MCP server, logs, w.world.wire()), a fresh VS Code and a
// fresh browser, and takes them away after the test; so let subtests (t.test) share one where they can. Any test that
// fails leaves a picture, the page's text and all logs in .deps/screens/vscode. Never wait for a time. No test here runs
// with --enable-smoke-test-driver, which hides all toasts: what needs vscode.* belongs to test/host (see host.ts).
import { basename, join } from "node:path";
import type { TestContext } from "node:test";
import type { BrowserContext, FrameLocator, Locator, Page, Request } from "playwright-core";
import { Commands } from "./commands";
import { keepFailure, screen } from "./screens";
import { launch, VSCode, type VSCodeOptions } from "./vscode";
import { World, type WorldOptions } from "./world";

export interface WorkbenchOptions extends WorldOptions, VSCodeOptions {
  /** Whether to wait until the extension has connected to the server; it is waited for. */
  connected?: boolean;
}

export async function workbench(t: TestContext, options: WorkbenchOptions = {}): Promise<Workbench> {
  const owned: (() => Promise<void>)[] = [];
  t.after(async () => {
    const failures: unknown[] = [];
    for (const close of owned.reverse()) await close().catch((error: unknown) => failures.push(error));
    if (failures.length > 0) throw new AggregateError(failures, failures.map(String).join("\n"));
  });
  const world = await World.make(options);
  owned.push(() => world.close());
  const vscode = await VSCode.start(world, options);
  owned.push(() => vscode.stop());
  const { browser, close } = await launch();
  owned.push(close);
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const w = new Workbench(world, vscode, context, await context.newPage());
  const ended = async (test: unknown) => {
    const { error, name } = test as { error?: unknown; name: string };
    if (error) await keepFailure(w, name);
  };
  t.afterEach(ended);
  owned.push(() => ended(t));
  await w.open();
  if (options.connected ?? true)
    await w.until("the server's connection", () => world.sent("editor", "initialized").length);
  return w;
}

export class Workbench extends Commands {
  readonly world: World;
  readonly vscode: VSCode;
  /** URLs of requests of the page and its frames to any other host. */
  readonly foreign: string[] = [];

  constructor(world: World, vscode: VSCode, context: BrowserContext, page: Page) {
    super(page);
    this.world = world;
    this.vscode = vscode;
    context.on("request", (request) => void this.look(request));
  }

  private async look(request: Request): Promise<void> {
    const { host, protocol } = new URL(request.url());
    if (!/^(https?|wss?):$/.test(protocol) || host === this.vscode.host) return;
    // A webview's files have a made-up host, for which VS Code's service worker answers: no network is asked.
    const made = host.endsWith(".vscode-resource.vscode-cdn.net");
    if (made && (await request.response())?.fromServiceWorker()) return;
    this.foreign.push(request.url());
  }

  /** Opens, or opens anew, the project in the page. */
  async open(): Promise<void> {
    await this.page.goto(this.vscode.url());
    await this.page.locator(".monaco-workbench .explorer-folders-view .monaco-list-row").first().waitFor();
  }

  // Notifications and dialogs

  toast(text: string | RegExp): Locator {
    return this.page.locator(".notification-toast", { hasText: text });
  }

  async toastButton(text: string | RegExp, button: string): Promise<void> {
    await this.toast(text).locator(".monaco-text-button").getByText(button, { exact: true }).click();
  }

  /** Closes a toast by its cross; one that hides itself after a while may be gone before (see clearToasts). */
  async dismiss(text: string | RegExp): Promise<void> {
    await this.toast(text).hover();
    await this.toast(text).locator(".codicon-notifications-clear").first().click();
  }

  /** Clears all notifications, toasts that hid themselves too. */
  async clearToasts(): Promise<void> {
    await this.command("Notifications: Clear All Notifications");
    await this.page.locator(".notification-toast").first().waitFor({ state: "hidden" });
  }

  /** Everything in the notification centre, toasts that went away too. Opens and closes it. */
  async notifications(): Promise<string[]> {
    await this.command("Notifications: Show Notifications");
    const centre = this.page.locator(".notifications-center.visible");
    await centre.waitFor();
    const texts = await centre.locator(".notification-list-item").allInnerTexts();
    await this.command("Notifications: Hide Notifications");
    return texts;
  }

  /** The modal dialog. */
  modal(): Locator {
    return this.page.locator(".monaco-dialog-box");
  }

  async modalButton(button: string): Promise<void> {
    await this.modal().locator(".monaco-text-button").getByText(button, { exact: true }).click();
  }

  statusItem(text: string | RegExp): Locator {
    return this.page.locator(".statusbar-item", { hasText: text });
  }

  // Views

  /** The view container of the extension. */
  async show(): Promise<void> {
    await this.command("agentls: Open Chat");
    await this.panel().locator("body").waitFor();
  }

  /** The inside of the chat view: webviews are two frames, one in the other. */
  panel(): FrameLocator {
    return this.page
      .locator("iframe.webview.ready")
      .last()
      .contentFrame()
      .locator("iframe#active-frame")
      .contentFrame();
  }

  /** What was said in the chat view, without its input and what it tells a screen reader. */
  conversation(): Locator {
    return this.panel().getByRole("log", { name: "Conversation" });
  }

  /** A row of a tree, by a part of its text. */
  treeRow(text: string | RegExp): Locator {
    return this.page.locator(".customview-tree .monaco-list-row", { hasText: text }).first();
  }

  /** An inline button of a row of a tree, by its tooltip. */
  async treeButton(row: string | RegExp, tooltip: string): Promise<void> {
    await this.treeRow(row).hover();
    await this.treeRow(row)
      .locator(`.action-label[aria-label=${JSON.stringify(tooltip)}]`)
      .click();
  }

  /** Chooses in the context menu of an element. */
  async contextMenu(at: Locator, item: string): Promise<void> {
    await at.click({ button: "right" });
    await this.page.locator(".context-view .action-label").getByText(item, { exact: true }).click();
  }

  // Editors

  /** Opens a file of the project in an editor; the cursor is at its end. */
  async openFile(name: string): Promise<Locator> {
    await this.page.keyboard.press("Control+P");
    await this.quickInput().fill(join(this.world.project, name)); // a whole path is looked at, not searched for
    await this.row(basename(name)).click();
    await this.tab(basename(name)).waitFor();
    const editor = this.editor();
    await editor.locator(".view-lines").click();
    await this.page.keyboard.press("Control+End");
    return editor;
  }

  /**
   * Puts the cursor of the active editor, which then has the focus, at a line and column, counted from 1. Not behind a
   * tab: versions of VS Code count it differently.
   */
  async goTo(line: number, column: number): Promise<void> {
    await this.press("Control+G");
    await this.quickInput().fill(`:${line}:${column}`);
    await this.press("Enter");
    await this.statusItem(`Ln ${line}, Col ${column}`).waitFor();
    await this.quickInput().waitFor({ state: "hidden" });
    await this.page.locator(".editor-instance .monaco-editor.focused").waitFor();
  }

  /** Runs a code action for what is at the cursor, by its title. */
  async codeAction(title: string | RegExp): Promise<void> {
    await this.press("Control+.");
    const row = this.page.locator(".action-widget .monaco-list-row", { hasText: title }).first();
    const box = await this.until("the action's place", () => row.boundingBox());
    // Until the mouse moves a menu takes no click.
    await this.page.mouse.move(box.x + 20, box.y + box.height / 2, { steps: 2 });
    await row.click();
  }

  tab(name: string | RegExp): Locator {
    return this.page.locator(".tabs-container .tab", { hasText: name });
  }

  /** The active editor. */
  editor(): Locator {
    return this.page.locator(".editor-group-container.active .editor-instance .monaco-editor").last();
  }

  /** The visible lines of the active editor. */
  async text(editor = this.editor()): Promise<string> {
    const lines = await editor.locator(".view-lines > .view-line").evaluateAll((found) =>
      found
        .map((line) => ({ top: line.getBoundingClientRect().top, text: line.textContent }))
        .sort((a, b) => a.top - b.top)
        .map((line) => line.text),
    );
    return lines.join("\n").replaceAll("\u00a0", " ");
  }

  /** The labels in the completion popup, the chosen one marked by `> `; none where it is closed. */
  async suggestions(): Promise<string[]> {
    const rows = this.page.locator(".suggest-widget.visible .monaco-list-row");
    return rows.evaluateAll((found) =>
      found.map((row) => {
        const label = row.querySelector(".label-name")?.textContent ?? "";
        return (row.classList.contains("focused") ? "> " : "") + label;
      }),
    );
  }

  /** Chooses a theme, "light" or "dark" of the standard ones. */
  async theme(kind: "light" | "dark"): Promise<void> {
    await this.command("Preferences: Color Theme");
    await this.pick(kind === "light" ? /^(Default )?Light Modern$/ : /^(Default )?Dark Modern$/);
    await this.page.locator(`.monaco-workbench.${kind === "light" ? "vs:not(.vs-dark)" : "vs-dark"}`).waitFor();
  }

  /** A picture, of all or of an element, as .deps/screens/vscode/VERSION/NAME.png; the path of it. */
  async shot(name: string, of: Page | Locator = this.page): Promise<string> {
    const path = screen(`${name}.png`);
    await of.screenshot({ path });
    return path;
  }
}
