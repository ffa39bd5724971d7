import assert from "node:assert/strict";
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import * as vscode from "vscode";
import type { Agentls } from "../../src/agentls";
import type { RunResult } from "../../src/protocol";
import { saveDocument } from "../../src/save";
import { World } from "../driver/world";

const world = World.here();

async function until<T>(what: string, look: () => T | undefined | false | Promise<T | undefined | false>): Promise<T> {
  for (const deadline = Date.now() + 20_000; ; await new Promise((done) => setTimeout(done, 20))) {
    const value = await look();
    if (value !== undefined && value !== false) return value;
    assert.ok(Date.now() < deadline, `${what}: not within 20 s`);
  }
}

const uriOf = (name: string) => vscode.Uri.file(join(world.project, name));

/** The text of the document of a scheme that is in front. */
async function shown(scheme: string, has: string): Promise<string> {
  return await until(`a document of ${scheme} with ${has}`, () => {
    const document = vscode.window.activeTextEditor?.document;
    return document?.uri.scheme === scheme && document.getText().includes(has) && document.getText();
  });
}

describe("sessions, audit, undo, diagnostics, save and keys", () => {
  let a: Agentls;
  const ask = (prompt: string, session: string): Promise<RunResult> =>
    a.server.command("agentls.ask", { prompt, session });

  before(async () => {
    const extension = vscode.extensions.getExtension<{ agentls: Agentls }>("agentls.agentls");
    assert.ok(extension);
    a = (await extension.activate()).agentls;
    await a.server.ready();
  });

  it("reads a session as Markdown that nobody can write", async () => {
    await ask("SAY hello ![x](https://evil.example/x.png)", "to-read");
    await vscode.commands.executeCommand("agentls.ui.sessions.open", "to-read");
    const text = await shown("agentls-session", "## Agent");
    assert.match(text, /^# SAY hello !\\\[x\]/);
    assert.match(text, /Session `to-read`, begun .*, 1 turn\./);
    const document = vscode.window.activeTextEditor!.document;
    assert.equal(document.languageId, "markdown");
    await vscode.commands.executeCommand("type", { text: "x" });
    assert.equal(document.getText(), text);
  });

  it("forks a session and shows the copy", async () => {
    await vscode.commands.executeCommand("agentls.ui.sessions.fork", "to-read");
    const list = await a.server.command("agentls.session.list", {});
    const copies = list.filter((s) => s.session !== "to-read" && s.title.startsWith("SAY hello"));
    assert.equal(copies.length, 1);
    await vscode.commands.executeCommand("agentls.ui.sessions.resume", copies[0]!.session);
  });

  it("shows the audit log, filters it and shows it anew", async () => {
    await ask('CALL read_file {"path": "world.txt"}', "audited");
    await vscode.commands.executeCommand("agentls.ui.audit");
    const text = await shown("agentls-audit", "read_file");
    assert.match(text, /completed +read_file/);
    await vscode.commands.executeCommand("agentls.ui.audit", { tool: "nosuch" });
    await shown("agentls-audit", "Nothing fits");
    await vscode.commands.executeCommand("agentls.ui.audit", {});
    await shown("agentls-audit", "read_file");
    await ask('CALL list_dir {"path": "."}', "audited");
    await vscode.commands.executeCommand("agentls.ui.audit.refresh");
    await shown("agentls-audit", "list_dir");
  });

  it("undoes a run that changed files, and a second time says that it cannot", async () => {
    const run = await ask('CALL write_file {"path": "made.txt", "content": "made\\n"}', "changing");
    assert.deepEqual(
      run.changed?.map((f) => f.uri),
      [uriOf("made.txt").toString()],
    );
    assert.deepEqual(a.runs.get(run.runId)?.changed, run.changed);
    assert.ok(existsSync(uriOf("made.txt").fsPath));
    await vscode.commands.executeCommand("agentls.ui.undo", run.runId);
    assert.ok(!existsSync(uriOf("made.txt").fsPath));
    assert.equal(
      world.sent("editor", "workspace/executeCommand").filter((m) => m.params.command === "agentls.undo").length,
      1,
    );
    const list = await a.server.command("agentls.runs", {});
    assert.deepEqual(
      list.filter((r) => (r.changed ?? []).length > 0),
      [],
    );
  });

  it("tells the diagnostics of others, with all that they say, at most four times a second", async () => {
    const collection = vscode.languages.createDiagnosticCollection("linter");
    const range = new vscode.Range(0, 4, 0, 9);
    const diagnostic = new vscode.Diagnostic(range, "first is no word", vscode.DiagnosticSeverity.Warning);
    Object.assign(diagnostic, {
      source: "linter",
      code: { value: "L1", target: vscode.Uri.parse("https://lint.example/L1") },
      relatedInformation: [
        new vscode.DiagnosticRelatedInformation(new vscode.Location(uriOf("main.go"), range), "as here"),
      ],
    });
    try {
      const begun = Date.now();
      for (let i = 0; i < 40; i++) {
        collection.set(uriOf("world.txt"), [diagnostic]);
        await new Promise((done) => setTimeout(done, 10));
      }
      const answer = await until("the server's request", () =>
        world
          .sent("server", "agentls/diagnostics")
          .map(
            (request) =>
              world.response(request)?.result as { uri: string; diagnostics: Record<string, any>[] }[] | undefined,
          )
          .find((result) => result?.some((d) => d.uri.endsWith("/world.txt") && d.diagnostics.length > 0)),
      );
      const [told] = answer.find((d) => d.uri.endsWith("/world.txt"))!.diagnostics;
      assert.equal(told!["message"], "first is no word");
      assert.equal(told!["severity"], 2);
      assert.equal(told!["source"], "linter");
      assert.equal(told!["code"], "L1");
      assert.deepEqual(told!["range"], { start: { line: 0, character: 4 }, end: { line: 0, character: 9 } });
      assert.equal(told!["relatedInformation"][0].message, "as here");
      const most = 2 + (Date.now() - begun) / 250;
      const news = world
        .sent("editor", "agentls/didChangeDiagnostics")
        .filter((m) => String(m.params.uri).endsWith("/world.txt"));
      assert.ok(news.length >= 1 && news.length <= most, `${news.length}, at most ${most}`);
      await ask("SHOW @workspace:diagnostics://all", "diagnosed");
      assert.match(JSON.stringify(world.requests().at(-1)), /first is no word/);
    } finally {
      collection.dispose();
    }
  });

  it("saves what a run edited, and says why it did not", async () => {
    const document = await vscode.workspace.openTextDocument(uriOf("world.txt"));
    await vscode.window.showTextDocument(document);
    const edited = 'CALL edit_file {"path": "world.txt", "edits": [{"old": "the first line", "new": "line one"}]}';
    await ask('CALL read_file {"path": "world.txt"}', "edits");
    const asked = ask(edited, "edits");
    const [question] = await until("the question", async () => {
      const open = await a.server.command("agentls.approvals", {});
      return open.length > 0 && open;
    });
    await a.server.command("agentls.approve", { id: question!.id, decision: "once" });
    const run = await asked;
    assert.deepEqual(run.changed, [{ uri: uriOf("world.txt").toString(), saved: true }]);
    assert.equal(world.read("world.txt"), "line one\nthe second line\n");
    assert.ok(!document.isDirty);
    const [request] = world.sent("server", "agentls/save");
    assert.deepEqual(world.response(request!)?.result, { saved: [uriOf("world.txt").toString()], failed: [] });
  });

  it("does not save what is not open, has no name, or was deleted", async () => {
    assert.equal(await saveDocument(uriOf("main.go")), "it is not open");
    const untitled = await vscode.workspace.openTextDocument({ content: "draft" });
    assert.match((await saveDocument(untitled.uri))!, /never saved: the person has to give it a name/);
    world.write("gone.txt", "here\n");
    const document = await vscode.workspace.openTextDocument(uriOf("gone.txt"));
    await vscode.window.showTextDocument(document);
    const edit = new vscode.WorkspaceEdit();
    edit.insert(document.uri, new vscode.Position(0, 0), "still ");
    await vscode.workspace.applyEdit(edit);
    rmSync(uriOf("gone.txt").fsPath);
    assert.match((await saveDocument(document.uri))!, /the file was deleted: .* the person's to decide/);
    assert.ok(!existsSync(uriOf("gone.txt").fsPath) && document.isDirty);
    await vscode.commands.executeCommand("workbench.action.revertAndCloseActiveEditor");
  });

  it("checks the configuration by the server's schema", async () => {
    for (const [name, text, language] of [
      [".agentls/config.json", '{ // why\n "limits": { "steps": "many" } }', "jsonc"],
      [".mcp.json", '{ "mcpServers": { "a": { "command": 5 } } }', "json"],
    ] as const) {
      world.write(name, text);
      const document = await vscode.workspace.openTextDocument(uriOf(name));
      await vscode.window.showTextDocument(document);
      assert.equal(document.languageId, language);
      const wrong = await until(`what is wrong with ${name}`, () =>
        vscode.languages.getDiagnostics(document.uri).find((d) => d.message.includes("Incorrect type")),
      );
      assert.equal(wrong.range.start.line, name === ".mcp.json" ? 0 : 1);
    }
  });

  it("forgets no key that it was not told to, and gives the server those that are kept", async () => {
    await a.context.secrets.store("agentls.key.KEPT_API_KEY", "sk-kept-1234567890");
    await until("the restart with the key", () =>
      a.context.globalState.get<string[]>("agentls.keys")?.includes("KEPT_API_KEY"),
    );
    assert.equal((await a.server.environment())["KEPT_API_KEY"], "sk-kept-1234567890");
    await a.context.secrets.delete("agentls.key.KEPT_API_KEY");
    await until("the key to go", () => a.context.globalState.get<string[]>("agentls.keys")?.length === 0);
    assert.deepEqual(await a.server.environment(), {});
  });
});
