import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { workbench, type Workbench } from "../driver/workbench";

/** Asks in the palette and waits for the response. */
async function ask(w: Workbench, prompt: string): Promise<{ runId: string; session: string }> {
  const asked = () =>
    w.world.sent("editor", "workspace/executeCommand").filter((m) => m.params.command === "agentls.ask");
  const before = asked().length;
  await w.command("agentls: Ask…");
  await w.input("", prompt);
  const request = await w.until("the request", () => asked()[before]);
  const answer = await w.until("the answer", () => w.world.response(request));
  assert.ok(answer.result, JSON.stringify(answer.error));
  return answer.result as { runId: string; session: string };
}

test("sessions, audit and undo", async (t) => {
  const w = await workbench(t, { config: { approval: { allow: ["write_file", "read_file"] } } });
  const commands = (name: string) =>
    w.world.sent("editor", "workspace/executeCommand").filter((m) => m.params.command === name);

  await t.test("without a session the list says so", async () => {
    await w.command("agentls: Sessions…");
    await w.toast("There is no session of this folder yet").waitFor();
    await w.dismiss("There is no session of this folder yet");
  });

  const first = await ask(w, "SAY the first answer");
  await ask(w, 'CALL write_file {"path": "made.txt", "content": "made"}');

  await t.test("the list shows them with time and turns, and resumes one in the chat view", async () => {
    await w.command("agentls: Sessions…");
    await w.quick("Pick a session to go on with it");
    const row = w.row("SAY the first answer");
    await row.waitFor();
    assert.match(await row.innerText(), /just now · 1 turn|min ago · 1 turn/);
    await w.shot("sessions");
    await w.pick("SAY the first answer");
    await w.panel().getByText("the first answer", { exact: false }).first().waitFor();
  });

  await t.test("a fork is a session of its own", async () => {
    await w.command("agentls: Sessions…");
    await w.quick("Pick a session to go on with it");
    await w.quickButton("Fork, and go on with the copy", "SAY the first answer");
    const fork = await w.until("the fork", () => commands("agentls.session.fork").map((m) => w.world.response(m))[0]);
    assert.notEqual(fork.result.session, first.session);
    assert.equal(commands("agentls.session.fork")[0]?.params.arguments[0].session, first.session);
    await w.until("the fork in the chat view", () =>
      commands("agentls.session.show").some((m) => m.params.arguments[0].session === fork.result.session),
    );
    await w.panel().locator(":focus").first().waitFor(); // a key that is pressed before goes nowhere
  });

  await t.test("Enter does not delete, the button does", async () => {
    await w.command("agentls: Delete Session…");
    await w.quick("Pick a session to delete it");
    await w.pick(/^CALL write_file/);
    await w.modal().getByText("Delete “CALL write_file", { exact: false }).waitFor();
    await w.shot("session delete");
    await w.press("Enter");
    await w.modal().waitFor({ state: "hidden" });
    await w.quick("Pick a session to delete it"); // the list is there again
    assert.equal(commands("agentls.session.delete").length, 0);
    await w.pick(/^CALL write_file/);
    await w.modalButton("Delete");
    const gone = await w.until(
      "the delete",
      () => commands("agentls.session.delete").map((m) => w.world.response(m))[0],
    );
    assert.equal(gone.error, undefined);
    await w.quick("Pick a session to delete it");
    await w.row("SAY the first answer").waitFor();
    assert.equal(await w.row(/^CALL write_file/).count(), 0);
    await w.press("Escape");
  });

  await t.test("the audit log is a table in an editor, with its own buttons", async () => {
    await w.command("agentls: Show Audit Log");
    await w.tab("agentls audit log").waitFor();
    await w.until("the line", async () => /completed +write_file/.test(await w.text()));
    await w.editor().getByText("Filter…").waitFor();
    await w.shot("audit");
    await w.command("agentls: Filter Audit Log…");
    await w.quick("Of which tool, or of which run?");
    await w.pick(/write_file$/);
    await w.until("the filtered log", async () => (await w.text()).includes(", of write_file"));
  });

  await t.test("a run that changed files is undone from a list", async () => {
    assert.ok(existsSync(join(w.world.project, "made.txt")));
    await w.command("agentls: Undo Changes of Run…");
    await w.quick("Files that were changed since by something else are left as they are");
    await w.shot("undo");
    await w.pick(/^CALL write_file/);
    await w.toast("Undo: restored made.txt.").waitFor();
    assert.ok(!existsSync(join(w.world.project, "made.txt")));
    await w.command("agentls: Undo Changes of Run…");
    await w.toast("No run of this window changed files, or all of it was undone").waitFor();
  });

  await t.test("the same in light", async () => {
    await w.theme("light");
    await w.command("agentls: Sessions…");
    await w.row("SAY the first answer").waitFor();
    await w.shot("sessions light");
    await w.press("Escape");
    await w.shot("audit light");
  });
});
