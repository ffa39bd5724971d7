import assert from "node:assert/strict";
import * as vscode from "vscode";
import { explicitSettings } from "../../src/settings.js";
import { startRun } from "../../src/run.js";
import { extension, until } from "./here.js";
import { World } from "../driver/world.js";

describe("in a folder that is not trusted", () => {
  const world = World.here();

  it("the server runs, and hears that the folder is not trusted", async () => {
    const a = await extension();
    await a.server.ready();
    assert.equal(vscode.workspace.isTrusted, false);
    assert.deepEqual(world.sent("editor", "initialize")[0]?.params.initializationOptions, { workspaceTrusted: false });
  });

  it("none of the folder's settings reaches the server", async () => {
    const inspected = vscode.workspace.getConfiguration("agentls", null).inspect("provider");
    assert.equal(vscode.workspace.getConfiguration("agentls", null).get("provider"), null, JSON.stringify(inspected));
    assert.deepEqual(
      Object.values(explicitSettings()).filter((value) => value !== null),
      [],
    );
    const request = await until("the server's question", () => world.sent("server", "workspace/configuration")[0]);
    const answer = await until("the answer", () => world.response(request));
    assert.deepEqual(answer.result, [explicitSettings()]);
  });

  it("one can ask", async () => {
    const result = await startRun(await extension(), "agentls.ask", { prompt: "SAY yes" }, { toast: false });
    assert.equal(result?.text, "yes");
  });
});
