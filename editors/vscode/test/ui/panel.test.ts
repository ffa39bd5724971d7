import assert from "node:assert/strict";
import { test } from "node:test";
import type { FrameLocator, Locator } from "playwright-core";
import { workbench, type Workbench } from "../driver/workbench.js";

const input = (p: FrameLocator): Locator => p.getByRole("combobox", { name: "Prompt" });

/** Opens the view by its command, the input with the focus. */
async function chat(w: Workbench): Promise<FrameLocator> {
  await w.command("agentls: Open Chat");
  const p = w.panel();
  await input(p).waitFor();
  await w.until("the input has the focus", () => input(p).evaluate((e) => e === document.activeElement));
  return p;
}

test("the chat view, by keyboard alone", async (t) => {
  const w = await workbench(t, { files: { "notes.md": "a note\n" } });
  const p = await chat(w);
  const log = p.getByRole("log", { name: "Conversation" });

  await t.test("a prompt is answered, streamed and formatted", async () => {
    await w.type("SAY **bold** and `code`");
    await w.press("Enter");
    await log.locator("strong", { hasText: "bold" }).waitFor();
    await log.getByText("10 tokens in, 5 out").waitFor();
    assert.equal(await input(p).inputValue(), "");
    await w.until("it is told", async () =>
      ((await p.getByRole("status").last().textContent()) ?? "").includes("has answered"),
    );
  });

  await t.test("mentions complete, through : and /, from the same server", async () => {
    await w.type("SHOW @");
    const list = p.getByRole("listbox", { name: "Suggestions" });
    await list.waitFor();
    await w.type("workspace:file://no", 30);
    await list.getByRole("option", { name: "notes.md" }).first().waitFor();
    assert.equal(await input(p).getAttribute("aria-expanded"), "true");
    await w.press("Enter");
    await list.waitFor({ state: "hidden" });
    assert.equal(await input(p).inputValue(), "SHOW @workspace:file://notes.md");
    await w.press("Enter");
    await log.getByText("Seen: a note").waitFor();
    await log.locator(".mention", { hasText: "@workspace:file://notes.md" }).waitFor();
  });

  await t.test("what is wrong with the prompt is said below it", async () => {
    await w.type("@nowhere:file:///x ");
    await p.getByRole("list", { name: "Problems of the prompt" }).getByText("nowhere").waitFor();
  });

  await t.test("none of it shows among the problems of files", async () => {
    assert.equal(await w.page.locator(".statusbar-item", { hasText: /^\s*0\s*0\s*$/ }).count(), 1);
    await w.press("Control+a", "Delete");
  });

  await t.test("Up gives what was sent, and what was typed comes back", async () => {
    await w.type("draft");
    await w.press("ArrowUp");
    assert.equal(await input(p).inputValue(), "SHOW @workspace:file://notes.md");
    await w.press("ArrowDown");
    assert.equal(await input(p).inputValue(), "draft");
    await w.press("Control+a", "Delete");
  });

  await t.test("a run is steered, and cancelled by Ctrl+Escape but not by Escape", async () => {
    await w.type("SLOW");
    await w.press("Enter");
    await log.getByText("word5").waitFor();
    await w.type("and this");
    await w.press("Enter");
    await log.getByText("You added: and this").waitFor();
    await w.press("Escape");
    await log.getByText("word40", { exact: false }).first().waitFor();
    assert.equal(w.world.hungUp(), 0);
    await w.press("Control+Escape");
    await log.getByText("Cancelled").waitFor();
    await w.until("the provider's socket is closed", () => w.world.hungUp() === 1);
    const asked = w.world
      .sent("editor", "workspace/executeCommand")
      .filter((m) => m.params.command === "agentls.ask")
      .at(-1);
    assert.equal(asked && w.world.response(asked)?.error?.code, -32800);
  });

  await t.test("a draft and the conversation outlive a reload of the window", async () => {
    await w.type("not sent yet");
    await w.until("the extension knows it", () =>
      w.world.sent("editor", "textDocument/didChange").some((m) => JSON.stringify(m.params).includes("not sent yet")),
    );
    await w.page.evaluate(() => Object.assign(window, { old: true }));
    await w.command("Developer: Reload Window");
    await w.until("another page", () => w.page.evaluate(() => !("old" in window)).catch(() => false));
    await w.page
      .locator(".monaco-workbench .explorer-folders-view, .monaco-workbench iframe.webview")
      .first()
      .waitFor();
    const again = await chat(w);
    await again.getByText("Seen: a note").waitFor();
    assert.equal(await input(again).inputValue(), "not sent yet");
  });
  // A view's own files come from the service worker of the workbench, under that name.
  assert.deepEqual(
    w.foreign.filter((url) => !new URL(url).host.endsWith(".vscode-resource.vscode-cdn.net")),
    [],
  );
});
