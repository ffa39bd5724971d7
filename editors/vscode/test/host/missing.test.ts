import assert from "node:assert/strict";
import * as vscode from "vscode";
import type { Agentls } from "../../src/agentls.js";
import { extension, until } from "./here.js";

describe("without the server's program", () => {
  let a: Agentls;

  before(async () => {
    a = await extension();
    await until("the state", () => a.server.state === "missing");
  });

  it("says in a sentence what is wrong and what to do", async () => {
    await assert.rejects(a.server.ready(), /agentls\.path is \/nowhere\/agentls, and there is no such file\./u);
  });

  it("has its commands all the same: none hangs, none throws", async () => {
    for (const command of ["agentls.ui.restart", "agentls.ui.log"]) await vscode.commands.executeCommand(command);
    assert.equal(a.server.state, "missing");
  });
});
