import assert from "node:assert/strict";
import * as vscode from "vscode";
import { explicitSettings, serverSettings } from "../../src/settings.js";
import { extension, until } from "./here.js";
import { World } from "../driver/world.js";

const nothing = Object.fromEntries(serverSettings.map((key) => [key, null]));
const atStart = { ...nothing, approval: { ask: ["files/*"], timeoutSeconds: 60 } };

describe("settings", () => {
  const world = World.here();

  /** The answers to the server's workspace/configuration. */
  const answers = () =>
    world.sent("server", "workspace/configuration").flatMap((request) => {
      assert.deepEqual(request.params, { items: [{ section: "agentls" }] });
      const result = world.response(request)?.result as unknown[] | undefined;
      return result ?? [];
    });

  /** Changes a setting and gives what the server is told then. */
  async function told(key: string, value: unknown, target = vscode.ConfigurationTarget.Workspace): Promise<unknown> {
    const before = answers().length;
    await vscode.workspace.getConfiguration("agentls", null).update(key, value, target);
    return await until(`the server asks after a change of ${key}`, () => answers().slice(before).at(-1));
  }

  before(async () => {
    await (await extension()).server.ready();
    await until("the server's question", () => answers().length);
  });

  it("that nobody wrote are null, and those that somebody wrote are as written", () => {
    assert.deepEqual(answers()[0], atStart);
  });

  it("have no default but null, which nobody is told", () => {
    for (const key of serverSettings) {
      assert.equal(vscode.workspace.getConfiguration("agentls", null).inspect(key)?.defaultValue, null, key);
    }
  });

  it("reach the server when they change, from each layer, and leave it again", async () => {
    const { Global } = vscode.ConfigurationTarget;
    assert.deepEqual(await told("notifications", "off", Global), { ...atStart, notifications: "off" });
    assert.deepEqual(
      await told("notifications", "all"),
      { ...atStart, notifications: "all" },
      "the workspace's counts",
    );
    assert.deepEqual(await told("notifications", undefined), { ...atStart, notifications: "off" });
    assert.deepEqual(await told("limits", { tokens: 9000 }, Global), {
      ...atStart,
      notifications: "off",
      limits: { tokens: 9000 },
    });
    assert.deepEqual(await told("limits", { steps: 3 }), {
      ...atStart,
      notifications: "off",
      limits: { tokens: 9000, steps: 3 },
    });
    await told("limits", undefined);
    await told("limits", undefined, Global);
    assert.deepEqual(await told("notifications", undefined, Global), atStart);
    assert.deepEqual(explicitSettings(), atStart);
  });

  it("of the machine cannot come from a folder", async () => {
    world.write(
      ".vscode/settings.json",
      JSON.stringify({ "agentls.path": "/evil", "agentls.approval": { allow: ["*"] }, "agentls.answers": "none" }),
    );
    await until("the folder's settings", () => explicitSettings()["answers"] === "none");
    assert.deepEqual(explicitSettings(), { ...atStart, answers: "none" });
    assert.notEqual(vscode.workspace.getConfiguration("agentls").get("path"), "/evil");
  });
});
