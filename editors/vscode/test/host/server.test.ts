import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as vscode from "vscode";
import type { Agentls } from "../../src/agentls.js";
import { isLive } from "../../src/runs.js";
import { startRun } from "../../src/run.js";
import { extension, reaches, until } from "./here.js";
import { World } from "../driver/world.js";

const isAlive = (pid: number) => existsSync(`/proc/${pid}`);

describe("the server", () => {
  const world = World.here();
  let a: Agentls;
  const initialized = () => world.sent("editor", "initialize");

  /** A run that works until it is cancelled, once its first words are there. */
  async function slowRun(token?: vscode.CancellationToken) {
    const runId = `slow ${Math.random()}`;
    const how = token === undefined ? { toast: false as const } : { toast: false as const, signal: token };
    const ended = startRun(a, "agentls.ask", { prompt: "SLOW", runId }, how);
    ended.catch(() => undefined);
    await until("the run's first words", () => a.runs.get(runId)?.items.length);
    return { runId, ended };
  }

  before(async () => {
    a = await extension();
    await a.server.ready();
  });

  it("is started within 50 ms of activate(), ten times that on a busy machine, which the log says", async () => {
    assert.ok(
      a.server.startMilliseconds !== undefined && a.server.startMilliseconds < 500,
      String(a.server.startMilliseconds),
    );
    const log = join(vscode.Uri.joinPath(a.context.logUri, "agentls.log").fsPath);
    await until(
      "the line",
      () => existsSync(log) && /activate\(\) to client\.start\(\): [\d.]+ ms/u.test(readFileSync(log, "utf8")),
    );
  });

  it("hears what the extension has a user interface for, and that the folder is trusted", () => {
    const { capabilities, initializationOptions, clientInfo, processId } = initialized()[0]!.params;
    for (const feature of ["approvals", "diagnostics", "plans", "runEvents", "save"]) {
      assert.equal(capabilities.experimental.agentls[feature], true, feature);
    }
    assert.equal(initializationOptions.workspaceTrusted, true);
    assert.equal(clientInfo.version, vscode.version);
    assert.equal(processId, process.pid);
    // leanclient.mjs leaves out what the server has not: nothing of it is announced.
    assert.equal(capabilities.notebookDocument, undefined);
    assert.deepEqual(
      ["definition", "rename", "diagnostic", "formatting"].filter((f) => capabilities.textDocument[f] !== undefined),
      [],
    );
  });

  it("has its announced commands under its own ids", async () => {
    const commands = await vscode.commands.getCommands(true);
    assert.ok(commands.includes("agentls.ask"));
    assert.ok(!commands.includes("agentls.approve"), "what can only be asked for directly is not announced");
  });

  it("stands beside each command that the manifest contributes", async () => {
    const commands = await vscode.commands.getCommands(true);
    const manifest = a.context.extension.packageJSON as { contributes: { commands: { command: string }[] } };
    const missing = manifest.contributes.commands.map((c) => c.command).filter((c) => !commands.includes(c));
    assert.deepEqual(missing, [], "each contributed command is registered");
  });

  it("gets each announced command that starts a run with a progress token, and its cancel as LSP has it", async () => {
    const runId = "of an announced command";
    void vscode.commands.executeCommand("agentls.ask", { prompt: "SLOW", runId });
    await until("the run", () => a.runs.get(runId)?.items.length);
    const request = world
      .sent("editor", "workspace/executeCommand")
      .find((m) => m.params.arguments?.[0]?.runId === runId)!;
    assert.equal(typeof request.params.workDoneToken, "string");
    assert.equal(a.runs.get(runId)?.prompt, "SLOW");
    await a.server.command("agentls.cancel", { runId });
    const answer = await until("the answer", () => world.response(request));
    assert.equal(answer.error?.code, -32800);
    await until("its end", () => a.runs.get(runId)?.status === "cancelled");
  });

  it("has a run cancelled by a token", async () => {
    const source = new vscode.CancellationTokenSource();
    const hungUp = world.hungUp();
    const { runId, ended } = await slowRun(source.token);
    source.cancel();
    assert.equal(await ended, undefined, "a cancel is no failure");
    assert.equal(a.runs.get(runId)?.status, "cancelled");
    assert.ok(world.sent("editor", "$/cancelRequest").length > 0);
    await until("the provider's request is closed", () => world.hungUp() > hungUp);
  });

  it("has a progress of its own shown where a run is detached", async () => {
    const { runId, status } = await a.server.command("agentls.ask", { prompt: "SAY far away", detached: true });
    assert.ok(status === "queued" || status === "running", status);
    await until("its end", () => a.runs.get(runId)?.status === "completed");
    assert.deepEqual(a.runs.get(runId)?.items, [{ kind: "text", text: "far away" }]);
    const create = world.sent("server", "window/workDoneProgress/create").at(-1)!;
    assert.equal((await until("the answer", () => world.response(create))).error, undefined);
    const ends = () => world.sent("server", "$/progress").filter((m) => m.params.token === create.params.token);
    await until("the progress's end", () => ends().at(-1)?.params.value.kind === "end");
  });

  it("has no link run and no HTML shown in what it shows of others", async () => {
    const name = "hover.agentls.md";
    world.write(name, "@test:test://docs/world.md\n");
    const document = await vscode.workspace.openTextDocument(vscode.Uri.file(`${world.project}/${name}`));
    const hovers = await until("the hover", async () => {
      const position = new vscode.Position(0, 8);
      const found = await vscode.commands.executeCommand<vscode.Hover[]>(
        "vscode.executeHoverProvider",
        document.uri,
        position,
      );
      return found.length > 0 ? found : undefined;
    });
    for (const content of hovers.flatMap((hover) => hover.contents)) {
      assert.ok(content instanceof vscode.MarkdownString);
      assert.deepEqual([content.isTrusted ?? false, content.supportHtml ?? false], [false, false]);
    }
  });

  it("refuses a bad argument in words, and no run is left of it", async () => {
    const argument = { prompt: "x", runId: "bad", mode: "odd" as "react" };
    await assert.rejects(startRun(a, "agentls.ask", argument, { toast: false }), /mode/u);
    const run = a.runs.get("bad")!;
    assert.equal(run.status, "failed");
    assert.match(run.error?.message ?? "", /mode/u);
  });

  it("is started again when it is killed; what ran has failed", async () => {
    const { runId, ended } = await slowRun();
    const [before, starts] = [a.server.pid!, initialized().length];
    const ready = reaches(a, "ready");
    process.kill(before, "SIGKILL");
    await assert.rejects(ended, /ended before it answered/u);
    await ready;
    const run = a.runs.get(runId)!;
    assert.equal(run.status, "failed");
    assert.match(run.error?.message ?? "", /SIGKILL/u);
    assert.deepEqual(a.runs.active(), []);
    assert.notEqual(a.server.pid, before);
    assert.equal(initialized().length, starts + 1);
    const result = await startRun(a, "agentls.ask", { prompt: "SAY again" }, { toast: false });
    assert.equal(result?.text, "again");
    assert.equal(isLive(a.runs.get(result.runId)!), false, "its events come over the new connection");
  });

  it("is not started again for ever, but by a person", async () => {
    const failed = reaches(a, "failed");
    let kills = 0;
    const listener = a.server.onDidChange((state) => {
      if (state === "ready" && kills < 10) kill();
    });
    const kill = () => {
      kills++;
      process.kill(a.server.pid!, "SIGKILL");
    };
    kill();
    await failed;
    listener.dispose();
    assert.equal(kills, 5, "one before, and five in all");
    await assert.rejects(a.server.ready(), /too often/u);
    await vscode.commands.executeCommand("agentls.ui.restart");
    assert.equal(a.server.state, "ready");
  });

  it("ends when it is stopped, and leaves no process", async () => {
    const pid = a.server.pid!;
    const pids = [pid, ...world.servers().slice(-1)];
    const exits = world.sent("editor", "exit").length;
    await a.server.stop();
    assert.deepEqual(pids.filter(isAlive), []);
    assert.equal(world.sent("editor", "shutdown").length > 0 && world.sent("editor", "exit").length, exits + 1);
    await assert.rejects(a.server.ready(), /was stopped/u);
    await a.server.restart();
    assert.equal(a.server.state, "ready");
  });

  it("is stopped while it starts, too", async () => {
    const restarted = a.server.restart();
    await until("its process", () => a.server.state === "starting" && a.server.pid);
    const pid = a.server.pid!;
    await a.server.stop();
    await restarted;
    await until("its end", () => !isAlive(pid));
    await a.server.restart();
    assert.equal(a.server.state, "ready");
  });
});
