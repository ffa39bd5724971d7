// What goes wrong with the server and its configuration.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ask, started } from "./steps";
import { workbench } from "../driver/workbench";

test("the story of a server that dies, and of a wrong configuration", async (t) => {
  const w = await workbench(t);
  const { world } = w;

  await t.test("a server that is killed is started again, with a message, and answers", async () => {
    const [pid] = world.servers();
    assert.ok(pid);
    process.kill(pid, "SIGKILL");
    await w.toast(/agentls.*(restarted|started again)/i).waitFor();
    await w.until("the second connection", () => world.sent("editor", "initialized").length === 2);
    await ask(w, "SAY here again");
    const request = await started(w, "SAY here again");
    assert.equal((await w.until("the answer", () => world.response(request))).result?.text, "here again");
  });

  await t.test("a mistake in the configuration is a diagnostic of its file, and goes when it is mended", async () => {
    const name = ".agentls/config.json";
    world.write(name, '{\n  "limits": { "steps": "many" }\n}\n');
    const editor = await w.openFile(name);
    await editor.locator(".squiggly-error, .squiggly-warning").first().waitFor();
    await w.command("Problems: Focus on Problems View");
    const problem = w.page.locator(".markers-panel .monaco-list-row", { hasText: "steps" });
    await problem.first().waitFor();
    world.write(name, "{}\n");
    await problem.first().waitFor({ state: "hidden" });
  });
});
