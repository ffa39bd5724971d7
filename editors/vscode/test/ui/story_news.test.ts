// What MCP servers tell by themselves, and what becomes of text of theirs.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ask, started } from "./steps";
import { workbench } from "../driver/workbench";

test("the story of what servers say", async (t) => {
  const w = await workbench(t, { config: { approval: { allow: ["test/*"] } } });
  const { world } = w;
  const shown = () => world.sent("server", "window/showMessage").map(({ params }) => params.message as string);
  const call = async (words: string) => {
    await ask(w, `CALL ${words}`);
    const request = await started(w, `CALL ${words}`);
    const { result } = await w.until("the result", () => world.response(request));
    assert.equal(result?.status, "completed");
  };

  await t.test("a list that changed is told in one toast, a burst of changes too", async () => {
    await call(`add_resource {"name": "fresh.md"}`);
    await w.toast(/test.*resources/).waitFor();
    assert.equal(shown().length, 1, shown().join("\n"));
    await w.clearToasts();
    await call(`burst {"count": 40}`);
    await w.toast(/test.*resources/).waitFor();
    assert.equal(await w.toast(/test.*resources/).count(), 1);
    await w.until("the burst's end", () => world.received("resources/list").length >= 3);
    assert.equal(shown().length, 2, shown().join("\n"));
    await w.clearToasts();
  });

  await t.test("a command: link in a log line stays text, in the toast and in the log", async () => {
    const line = "see [the fix](command:workbench.action.toggleSidebarVisibility) of it";
    await call(`log ${JSON.stringify({ level: "warning", data: line })}`);
    const toast = w.toast("command:workbench.action.toggleSidebarVisibility");
    await toast.waitFor();
    assert.equal(await toast.locator(".notification-list-item-message a").count(), 0, await toast.innerHTML());
    await w.clearToasts();
    await w.command("agentls: Show Log");
    const log = w.page.locator(".panel .monaco-editor");
    await log.locator(".view-line", { hasText: "command:workbench.action" }).first().waitFor();
    assert.equal(await log.locator(".detected-link", { hasText: "command:" }).count(), 0);
  });

  await t.test("the page asks nobody else", () => assert.deepEqual(w.foreign, []));
});
