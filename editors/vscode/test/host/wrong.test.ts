import assert from "node:assert/strict";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as vscode from "vscode";
import type { Agentls } from "../../src/agentls.js";
import { extension, until } from "./here.js";
import { World } from "../driver/world.js";

describe("a program that is not what it should be", () => {
  const world = World.here();
  const machine = join(world.dir, "vscode", "user", "Machine", "settings.json");
  let a: Agentls;

  /** Makes a file the program of the setting. */
  async function choose(name: string, text: string | Buffer, mode = 0o755): Promise<string> {
    const path = join(world.dir, name);
    writeFileSync(path, text);
    chmodSync(path, mode);
    writeFileSync(machine, JSON.stringify({ "agentls.path": path }));
    await until("the setting", () => vscode.workspace.getConfiguration("agentls", null).get("path") === path);
    return path;
  }

  /** A server of another kind, or of another time. */
  const server = (result: object) => `#!${process.execPath}
const result = ${JSON.stringify(result)};
let held = "";
process.stdin.on("data", (data) => {
  held += data;
  const id = /"id":(\\d+),"method":"(initialize|shutdown)"/.exec(held);
  if (id === null) return;
  held = "";
  const body = JSON.stringify({ jsonrpc: "2.0", id: Number(id[1]), result: id[2] === "initialize" ? result : null });
  process.stdout.write(\`Content-Length: \${body.length}\\r\\n\\r\\n\${body}\`);
});
process.stdin.on("end", () => process.exit(0));
`;

  async function refused(state: string, words: RegExp): Promise<void> {
    await a.server.restart();
    assert.equal(a.server.state, state);
    await assert.rejects(a.server.ready(), words);
    assert.equal(a.server.pid, undefined, "nothing is left of it");
  }

  before(async () => {
    a = await extension();
    await a.server.ready();
  });

  it("says its last words where it ends at once", async () => {
    await choose("dies", "#!/bin/sh\necho first >&2\necho 'the state is of a newer version' >&2\nexit 1\n");
    await refused("failed", /did not start: the state is of a newer version$/u);
    const log = readFileSync(vscode.Uri.joinPath(a.context.logUri, "agentls.log").fsPath, "utf8");
    assert.match(log, /\[info\] first/u);
  });

  it("is named where it ends at once and says nothing", async () => {
    await choose("silent", "#!/bin/sh\nexit 0\n");
    await refused("failed", /it ended at once and said nothing/u);
  });

  it("is named where it is for another system", async () => {
    const path = await choose("foreign", Buffer.from("MZ\x90\0\x03", "latin1"));
    await refused("failed", new RegExp(`${path} is no program of this system`, "u"));
  });

  it("is named where it may not be run", async () => {
    await choose("plain", "#!/bin/sh\n", 0o644);
    await refused("missing", /that file is not executable/u);
  });

  it("is named where it is another server", async () => {
    const path = await choose("other", server({ capabilities: {}, serverInfo: { name: "other-ls" } }));
    await refused("failed", new RegExp(`${path} is not agentls but other-ls`, "u"));
  });

  it("is used where it is older, which is told", async () => {
    const experimental = { agentls: { version: "0.1.0", features: ["runEvents"] } };
    await choose(
      "older",
      server({ capabilities: { experimental }, serverInfo: { name: "agentls", version: "0.1.0" } }),
    );
    await a.server.restart();
    assert.equal(a.server.state, "ready");
    const log = readFileSync(vscode.Uri.joinPath(a.context.logUri, "agentls.log").fsPath, "utf8");
    assert.match(
      log,
      /is agentls 0\.1\.0, which is too old for this extension: it lacks approvals, diagnostics, save/u,
    );
  });
});
