// What the server knows of a prompt while one writes it: completion, hover, links, problems and their fixes.
import assert from "node:assert/strict";
import { test } from "node:test";
import { workbench } from "../driver/workbench";

test("mentions in a prompt", async (t) => {
  const w = await workbench(t, { files: { "a.agentls.md": "## You\n\n" } });
  await w.openFile("a.agentls.md");
  const fresh = async (text = "") => {
    await w.editor().locator(".view-lines").click();
    await w.press("Escape", "Control+A", "Delete");
    await w.type("## You\n\n" + text);
  };
  const offered = (label: string) =>
    w.until(label, async () => (await w.suggestions()).some((each) => each.replace("> ", "").startsWith(label)));
  /** What Enter takes. */
  const first = (label: string) =>
    w.until(label, async () => (await w.suggestions()).some((each) => each.startsWith(`> ${label}`)));
  await w.until("the MCP server", () => w.world.received("resources/list").length > 0);

  await t.test("the popup opens and stays at typing speed, through : and /, spaces in quotes and numbers", async () => {
    for (const [typed, label] of [
      ["@test:test://docs/wor", "world.md"],
      ["see @wor", "world.md"],
      ["(@test:test://docs/17", "Billing guide"],
      ["@test:<test://my docs/re", "read me.md"],
      ["/pl", "/plan"],
      ["/mcp res", "resources"],
    ] as const) {
      for (let n = 0; n < 10; n++) {
        await fresh();
        await w.type(typed, 5);
        await offered(label);
      }
    }
  });

  await t.test("Enter and Tab accept, with quotes where the URI needs them", async () => {
    for (const [typed, label, key, want] of [
      ["see @test:test://docs/wor", "world.md", "Enter", "see @test:test://docs/world.md"],
      ["see @test:test://my", "read me.md", "Tab", "see @test:<test://my docs/read me.md>"],
    ] as const) {
      await fresh();
      await w.type(typed, 5);
      await first(label);
      await w.press(key);
      await w.until(want, async () => (await w.text()).endsWith(want));
    }
  });

  await t.test("behind a server's name the popup opens again", async () => {
    await fresh();
    await w.type("@workspac", 5);
    await first("workspace");
    await w.press("Tab");
    await offered("world.txt");
  });

  await t.test("prose and addresses open nothing", async () => {
    await fresh();
    await w.type("me@test:test://docs either/or 1/2 a:", 5);
    const asked = () => w.world.sent("editor", "textDocument/completion").at(-1)!;
    await w.until("the last answer", () => w.world.response(asked()));
    assert.deepEqual(await w.suggestions(), []);
  });

  await t.test("a hover tells what is mentioned, and a link opens it", async () => {
    await fresh("see @test:test://docs/world.md ");
    const mention = w.editor().locator(".view-line span", { hasText: "docs/world.md" }).last();
    await mention.hover();
    const hover = w.page.locator(".monaco-hover:visible");
    await hover.getByText("Contents of test://docs/world.md").waitFor();
    await w.shot("prompt-hover");
    await w.press("Escape");
    await w.until("the link", () => {
      const last = w.world.sent("editor", "textDocument/documentLink").at(-1);
      return last && w.world.response(last)?.result?.length > 0;
    });
    const { x, y } = (await mention.boundingBox())!;
    await w.page.keyboard.down("Control");
    await w.page.mouse.move(x + 30, y + 5);
    await w.editor().locator(".detected-link-active").first().waitFor();
    await w.page.mouse.click(x + 30, y + 5);
    await w.page.keyboard.up("Control");
    await w.until("the resource", async () => (await w.text()).includes("Contents of test://docs/world.md"));
    await w.openFile("a.agentls.md");
  });

  await t.test("an unknown server is a problem that is fixed", async () => {
    await fresh("see @tset:test://docs/world.md");
    await w.editor().locator(".squiggly-error, .squiggly-warning").first().waitFor();
    await w.press("Control+.");
    const fix = w.page.locator(".action-widget .monaco-list-row", { hasText: "@test" }).first();
    await fix.waitFor();
    await w.shot("prompt-fix");
    await w.press("Enter");
    await w.until("the fix", async () => (await w.text()).includes("see @test:test://docs/world.md"));
  });

  await t.test("turns are in the outline, and fold", async () => {
    await fresh("SAY one");
    await w.press("Control+Enter");
    await w.until("the answer", async () => (await w.text()).includes("## Agent"));
    await w.press("Control+Shift+O");
    await w.row(/You: SAY one/).waitFor();
    await w.row(/Agent: one/).waitFor();
    await w.press("Escape");
    await w.command("Fold All");
    await w.until("the folds", async () => !(await w.text()).includes("SAY one"));
  });
});
