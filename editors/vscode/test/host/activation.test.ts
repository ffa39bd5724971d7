import assert from "node:assert/strict";
import * as vscode from "vscode";
import { World } from "../driver/world";

describe("activation", () => {
  it("registers what is contributed", async () => {
    const extension = vscode.extensions.getExtension("agentls.agentls");
    assert.ok(extension);
    await extension.activate();
    assert.ok((await vscode.commands.getCommands(true)).includes("agentls.ui.restart"));
  });
  it("starts the server", async () => {
    const world = World.here();
    while (world.sent("editor", "initialized").length === 0) await new Promise((done) => setTimeout(done, 25));
  });
});
