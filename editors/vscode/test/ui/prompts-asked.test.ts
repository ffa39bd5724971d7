// What is asked from the palette and from code.
import assert from "node:assert/strict";
import { test } from "node:test";
import { workbench } from "../driver/workbench";

// Spelled so that the text that is replaced does not occur here too.
const edit = 'CALL edit_file {"path":"a.txt","edits":[{"old":"\\u006fne","new":"uno"}]}';

test("asked from the palette and from code", async (t) => {
  const w = await workbench(t, {
    files: { "a.txt": `one\n${edit}\n`, "bad.json": '{ "a": , "b": ] }\n', "p.agentls.md": "## You\n\n" },
    settings: { "files.autoSave": "off", "agentls.panel.reveal": "never" },
    config: { approval: { allow: ["edit_file"] } },
  });
  const runs = () =>
    w.world.sent("editor", "workspace/executeCommand").filter(({ params }) => params.command === "agentls.ask");
  const asked = (n: number) =>
    w.until(`run ${n}`, () => {
      const request = runs()[n - 1];
      const answer = request && w.world.response(request);
      return answer && { argument: request.params.arguments[0], answer };
    });

  await t.test("Ask, with the prompts of before by the arrow key", async () => {
    await w.command("agentls: Ask…");
    await w.quick("Ask");
    await w.press("Enter");
    await w.quick("Write what the agent is to do");
    await w.type("SAY hello");
    await w.press("Enter");
    assert.equal((await asked(1)).answer.result.text, "hello");
    await w.command("agentls: Ask…");
    await w.quick("Ask");
    await w.press("ArrowUp");
    await w.pick("SAY hello");
    await w.until("the prompt in the input", async () => (await w.quickInput().inputValue()) === "SAY hello");
    await w.press("End");
    await w.type(" again");
    await w.press("Enter");
    assert.equal((await asked(2)).answer.result.text, "hello again");
  });

  await t.test("what was written and left is there again", async () => {
    await w.command("agentls: Plan…");
    await w.quick("Plan");
    await w.type("half a thought");
    await w.press("Escape");
    await w.command("agentls: Ask…");
    await w.until("the draft", async () => (await w.quickInput().inputValue()) === "half a thought");
    await w.quickInput().fill("");
    await w.press("Escape");
  });

  await t.test("Ask about selection attaches the lines", async () => {
    await w.openFile("main.go");
    await w.press("Control+Home", "Shift+ArrowDown");
    await w.command("agentls: Ask About Selection…");
    await w.input("main.go:1", "SAY seen");
    const { argument, answer } = await asked(3);
    assert.equal(answer.result.text, "seen");
    assert.deepEqual(argument.document.range, { start: { line: 0, character: 0 }, end: { line: 1, character: 0 } });
  });

  await t.test("Fix This Problem picks among those of the file", async () => {
    await w.openFile("bad.json");
    await w.until("problems", async () => (await w.editor().locator(".squiggly-error").count()) > 0);
    await w.press("Control+Home", "Control+End");
    await w.command("agentls: Fix This Problem");
    await w.row(/Value expected/).waitFor();
    await w.shot("prompt-problems");
    await w.pick(/Value expected/);
    const { argument } = await asked(4).catch(async () => {
      await w.quickRows().first().click(); // several at that place
      return asked(4);
    });
    assert.equal(argument.action, "fix");
    assert.match(argument.document.diagnostics[0].message, /Value expected/);
  });

  await t.test("Rewrite of a selection: the edit is shown first, applied, and undone by one key", async () => {
    await w.openFile("a.txt");
    await w.press("Control+A");
    const rewrite = w.page.locator(".action-widget .monaco-list-row.action", { hasText: "Rewrite" }).first();
    await w.until("the actions", async () => {
      if (await rewrite.isVisible()) return true;
      await w.press("Escape", "Control+A");
      await w.command("Quick Fix...");
      return rewrite.waitFor({ timeout: 2000 }).then(
        () => true,
        () => false,
      );
    });
    await rewrite.click();
    const apply = w.page.getByRole("button", { name: "Apply", exact: true });
    await apply.waitFor();
    await w.shot("prompt-refactoring");
    // What needs a confirmation is not ticked at first.
    await w.page.locator(".part.panel .edit-checkbox").first().click();
    await w.page.locator(".part.panel .edit-checkbox.checked").first().waitFor();
    await apply.click();
    const { argument, answer } = await asked(5);
    assert.equal(argument.action, "rewrite");
    assert.equal(answer.result.changed.length, 1);
    await w.until("the edit", async () => (await w.text()).startsWith("uno"));
    await w.editor().locator(".view-lines").click();
    await w.press("Control+Z");
    await w.until("undone", async () => (await w.text()).startsWith("one"));
  });

  await t.test("a failure is told once", async () => {
    w.world.configure({ provider: "none", providers: { none: { baseURL: "http://127.0.0.1:9/v1", model: "m" } } });
    await w.until("the new configuration", () =>
      w.world.sent("server", "window/logMessage").some(({ params }) => String(params.message).includes("read anew")),
    );
    await w.command("agentls: Ask…");
    await w.input("Ask", "hello");
    await w.toast("127.0.0.1:9").getByText("Show Log").waitFor();
    await w.shot("prompt-failure");
    assert.equal(await w.toast("127.0.0.1:9").count(), 1);
    await w.toastButton("127.0.0.1:9", "Show Log");
    await w.page.locator(".part.panel .output-view, .part.panel .monaco-editor").first().waitFor();
  });

  await t.test("what cannot work says why", async () => {
    await w.command("agentls: Steer Run…");
    await w.toast("Nothing runs").waitFor();
    await w.dismiss("Nothing runs");
    await w.command("agentls: Cancel Run…");
    await w.toast("Nothing runs").waitFor();
  });
});
