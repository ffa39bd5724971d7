import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import * as vscode from "vscode";
import type { Agentls } from "../../src/agentls.js";
import type { RunResult } from "../../src/protocol.js";
import type { Question } from "../../src/questions/question.js";
import { World } from "../driver/world";

const world = World.here();
let a: Agentls;

async function until<T>(what: string, look: () => T | undefined | false | Promise<T | undefined | false>): Promise<T> {
  for (const deadline = Date.now() + 20_000; ;) {
    const value = await look();
    if (value !== undefined && value !== false) return value;
    if (Date.now() > deadline) throw new Error(`${what}: not within 20 s`);
    await new Promise((done) => setTimeout(done, 20));
  }
}

const ask = (prompt: string, runId: string, token?: vscode.CancellationToken): Promise<RunResult> =>
  a.server.command("agentls.ask", { prompt, runId, session: runId }, token);

const asked = (runId: string): Promise<Question> =>
  until(`the question of ${runId}`, () => a.questions.open.find((q) => q.runId === runId));

const write = (path: string, content: string): string => `CALL write_file ${JSON.stringify({ path, content })}`;

/** What the model was told of its call. */
function told(result: RunResult): string {
  return result.text ?? "";
}

const previews = (): vscode.Tab[] =>
  vscode.window.tabGroups.all
    .flatMap((group) => group.tabs)
    .filter((tab) => tab.input instanceof vscode.TabInputTextDiff && tab.input.modified.scheme === "agentls-preview");

describe("questions", () => {
  before(async () => {
    const extension = vscode.extensions.getExtension<{ agentls: Agentls }>("agentls.agentls");
    assert.ok(extension);
    a = (await extension.activate()).agentls;
    await a.server.ready();
  });

  it("an edit is made once a yes is given", async () => {
    const run = ask(write("yes.txt", "one\n"), "yes");
    const q = await asked("yes");
    assert.equal(q.kind, "tool");
    assert.equal(q.tool, "write_file");
    assert.equal(q.preview?.uri, vscode.Uri.file(join(world.project, "yes.txt")).toString());
    assert.ok((q.deadline ?? 0) > Date.now());
    assert.equal(existsSync(join(world.project, "yes.txt")), false);
    assert.equal(a.questions.answer(q.id, { decision: "once" }), "answered");
    assert.equal(a.questions.answer(q.id, { decision: "once" }), "closed");
    assert.equal((await run).status, "completed");
    assert.equal(world.read("yes.txt"), "one\n");
  });

  it("a no reaches the model with its reason", async () => {
    const run = ask(write("no.txt", "one\n"), "no");
    const q = await asked("no");
    a.questions.answer(q.id, { decision: "deny", reason: "not on a Monday" });
    assert.match(told(await run), /not on a Monday/);
    assert.equal(existsSync(join(world.project, "no.txt")), false);
  });

  it("edited arguments are what is done", async () => {
    const run = ask(write("asked.txt", "one\n"), "edited");
    const q = await asked("edited");
    a.questions.answer(q.id, { decision: "once", arguments: { path: "edited.txt", content: "two\n" } });
    await run;
    assert.equal(world.read("edited.txt"), "two\n");
    assert.equal(existsSync(join(world.project, "asked.txt")), false);
  });

  it("no yes counts that is not offered", async () => {
    const run = ask('CALL run_command {"command":"echo a | cat"}', "pipe");
    const q = await asked("pipe");
    assert.deepEqual(q.decisions, ["deny", "once"]);
    assert.equal(a.questions.answer(q.id, { decision: "always" }), "refused");
    a.questions.answer(q.id, { decision: "deny" });
    await run;
  });

  it("an answer that is remembered settles the next", async () => {
    const first = ask('CALL echo {"text":"a"}', "first");
    const q = await asked("first");
    assert.ok(q.covers.includes("echo"), q.covers);
    a.questions.answer(q.id, { decision: "always" });
    assert.match(told(await first), /echo a/);
    assert.match(told(await ask('CALL echo {"text":"b"}', "second")), /echo b/);
  });

  it("a cancel takes its question and its diff away, and no other", async () => {
    const source = new vscode.CancellationTokenSource();
    const gone = ask(write("a.txt", "a\n"), "gone", source.token);
    const stays = ask(write("b.txt", "b\n"), "stays");
    const [q, other] = [await asked("gone"), await asked("stays")];
    await a.questions.showDiff(q.id);
    await until("the diff", () => previews().length === 1);
    source.cancel();
    await assert.rejects(gone);
    await until("that it is gone", () => a.questions.find(q.id) === undefined);
    await until("that its diff is closed", () => previews().length === 0);
    assert.equal(a.questions.find(other.id), other);
    assert.equal(a.questions.answer(q.id, { decision: "once" }), "closed");
    a.questions.answer(other.id, { decision: "deny" });
    await stays;
    assert.equal(existsSync(join(world.project, "a.txt")), false);
  });

  it("the diff editor has the present text and the proposed one", async () => {
    const document = await vscode.workspace.openTextDocument(join(world.project, "world.txt"));
    const edits = { path: "world.txt", edits: [{ old: "the second line", new: "line two" }] };
    const run = ask(`CALL edit_file ${JSON.stringify(edits)}`, "diff");
    const q = await asked("diff");
    await a.questions.showDiff(q.id);
    const tab = await until("the diff", () => previews()[0]);
    assert.ok(tab.input instanceof vscode.TabInputTextDiff);
    const text = async (uri: vscode.Uri): Promise<string> => (await vscode.workspace.openTextDocument(uri)).getText();
    const { original, modified } = tab.input;
    assert.equal(await text(original), "the first line\nthe second line\n");
    assert.equal(await text(modified), "the first line\nline two\n");
    // A person edits the document meanwhile: both sides follow.
    const edit = new vscode.WorkspaceEdit();
    edit.insert(document.uri, new vscode.Position(2, 0), "more\n");
    assert.ok(await vscode.workspace.applyEdit(edit));
    await until("both sides", async () => (await text(modified)) === "the first line\nline two\nmore\n");
    assert.equal(await text(original), "the first line\nthe second line\nmore\n");
    a.questions.answer(q.id, { decision: "deny" });
    await run;
    await until("that it is closed", () => previews().length === 0);
    await vscode.commands.executeCommand("workbench.action.closeAllEditors");
  });

  it("a form that does not fit is asked about anew, with what was said", async () => {
    const params = {
      message: "Who?",
      requestedSchema: {
        type: "object",
        properties: { name: { type: "string", minLength: 2 }, pin: { type: "string", title: "PIN" } },
        required: ["name"],
      },
    };
    const run = ask(`CALL elicit ${JSON.stringify({ params })}`, "form");
    const call = await asked("form");
    assert.equal(call.kind, "tool");
    a.questions.answer(call.id, { decision: "once" });
    const form = await until("the form", () => a.questions.open.find((q) => q.kind === "elicit"));
    assert.deepEqual(
      form.form?.fields.map((f) => [f.name, f.required]),
      [
        ["name", true],
        ["pin", false],
      ],
    );
    a.questions.answer(form.id, { decision: "once", content: { name: "A", pin: "1234" } });
    const again = await until("it anew", () => a.questions.open.find((q) => q.kind === "elicit" && q.seq > form.seq));
    assert.equal(again.id, form.id);
    assert.match(again.problem, /2 characters/);
    assert.deepEqual(again.previous, { name: "A" }, "a PIN is a secret");
    a.questions.answer(again.id, { decision: "once", content: { name: "Ada", pin: null } });
    assert.match(told(await run), /"name":"Ada"/);
  });

  it("a form can be declined, and cancelled", async () => {
    const params = { message: "Sure?", requestedSchema: { type: "object", properties: {} } };
    for (const [decision, action] of [
      ["deny", "decline"],
      ["cancel", "cancel"],
    ] as const) {
      const run = ask(`CALL elicit ${JSON.stringify({ params })}`, action);
      a.questions.answer((await asked(action)).id, { decision: "once" });
      const form = await until("the form", () => a.questions.open.find((q) => q.kind === "elicit"));
      a.questions.answer(form.id, { decision });
      assert.match(told(await run), new RegExp(`"action":"${action}"`));
    }
  });

  it("the commands review and deny, and never allow", async () => {
    const run = ask(write("c.txt", "c\n"), "commands");
    const q = await asked("commands");
    await vscode.commands.executeCommand("agentls.ui.questions.review", q.id);
    assert.equal(a.questions.reviewing, q.id);
    const pick = vscode.commands.executeCommand("agentls.ui.questions");
    await until("the pick", async () => {
      await vscode.commands.executeCommand("workbench.action.acceptSelectedQuickOpenItem");
      return Promise.race([pick.then(() => true), new Promise<false>((no) => setTimeout(() => no(false), 50))]);
    });
    assert.equal(a.questions.find(q.id), q, "it is still open");
    await vscode.commands.executeCommand("agentls.ui.questions.deny", q.id);
    assert.equal((await run).toolCalls?.[0]?.status, "rejected");
    assert.equal(a.questions.open.length, 0);
    await vscode.commands.executeCommand("agentls.ui.questions.deny", q.id);
    void vscode.commands.executeCommand("agentls.ui.questions"); // says that nothing waits
  });

  it("a restart takes all of them away", async () => {
    const run = ask(write("d.txt", "d\n"), "restart");
    const q = await asked("restart");
    const ended = assert.rejects(run);
    await a.server.restart();
    await ended;
    assert.deepEqual(a.questions.open, []);
    assert.equal(a.questions.answer(q.id, { decision: "once" }), "closed");
    assert.equal(existsSync(join(world.project, "d.txt")), false);
  });
});
