// Trust that a person grants while the window is open, and what is left when VS Code ends.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { test } from "node:test";
import { ask, started } from "./steps";
import { workbench } from "../driver/workbench";

test("trust reaches the server, and nothing outlives the window", async (t) => {
  const w = await workbench(t, { trusted: false });
  const { world } = w;
  const trusted = () =>
    world.sent("editor", "initialize").map(({ params }) => params.initializationOptions.workspaceTrusted);

  await t.test("the server is asked first where a run would end, and restarted where none would", async () => {
    assert.deepEqual(trusted(), [false]);
    await ask(w, "SLOW one");
    await started(w, "SLOW one");
    await w.until("the answer", () => world.sent("server", "agentls/runEvent").at(-1)?.params.kind === "text");
    await w.command("Workspaces: Manage Workspace Trust");
    await w.page.locator(".workspace-trust-editor").getByRole("button", { name: "Trust", exact: true }).click();
    await w.toast("1 run is at work, and ends with it.").waitFor();
    assert.deepEqual(trusted(), [false]);
    await w.toastButton("1 run is at work, and ends with it.", "Restart Server");
    await w.until("the new server", () => trusted().length === 2);
    assert.deepEqual(trusted(), [false, true]);
  });

  await t.test("no server is left when VS Code has ended", async () => {
    const pids = world.servers();
    assert.equal(pids.length, 2);
    assert.equal(existsSync(`/proc/${pids[1]}`), true);
    await w.vscode.stop();
    await w.until("their end", () => pids.every((pid) => !existsSync(`/proc/${pid}`)), 20_000);
  });
});
