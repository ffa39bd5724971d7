// Questions while the chat view is hidden: a notification or a pick that keeps the focus. Neither says yes, and both
// close with their question.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Locator } from "playwright-core";
import { answerCard } from "./steps";
import { workbench, type Workbench } from "../driver/workbench";
import { extensionFolder } from "../driver/world";

const hidden = { "agentls.panel.reveal": "never" };

/** Asks from the palette for a file to be written. */
async function askToWrite(w: Workbench, path: string): Promise<void> {
  const before = w.world.sent("server", "agentls/approve").length;
  await w.command("agentls: Ask…");
  await w.input("Ask", `CALL write_file ${JSON.stringify({ path, content: "one\n" })}`);
  await w.until("the question", () => w.world.sent("server", "agentls/approve").length > before);
}

const exists = (w: Workbench, path: string): boolean => existsSync(join(w.world.project, path));

/** What the server was answered to its n-th question; it waits for it. */
const answer = (w: Workbench, n: number): Promise<unknown> =>
  w.until(`the answer to question ${n + 1}`, () => {
    const request = w.world.sent("server", "agentls/approve")[n];
    return request && w.world.response(request)?.result;
  });

const gone = (what: Locator): Promise<void> => what.waitFor({ state: "detached" });

test("a question that nobody sees is a notification", async (t) => {
  const w = await workbench(t, { settings: hidden });
  const toast = w.toast("agentls asks");

  await t.test("it denies by its link", async () => {
    await askToWrite(w, "a.txt");
    await toast.waitFor();
    assert.match(await toast.innerText(), /agentls asks: Change a\.txt\?/);
    await w.shot("questions toast");
    await toast.locator("a", { hasText: "Deny" }).click();
    assert.deepEqual(await answer(w, 0), { decision: "deny" });
    await gone(toast);
    assert.equal(exists(w, "a.txt"), false);
  });

  await t.test("it closes when its run is cancelled", async () => {
    await askToWrite(w, "b.txt");
    await toast.waitFor();
    const run = w.world.sent("server", "agentls/approve")[1]?.params.runId as string;
    await w.toast("CALL write_file").locator(".monaco-text-button", { hasText: "Cancel" }).click();
    await w.until("the end of the run", () =>
      w.world.sent("server", "agentls/runEvent").some((m) => m.params.runId === run && m.params.kind === "finished"),
    );
    await gone(toast);
    assert.equal(exists(w, "b.txt"), false);
  });

  await t.test("of two runs it tells one after the other, and all that waits is in a list", async () => {
    await askToWrite(w, "c.txt");
    await askToWrite(w, "d.txt");
    await w.toast("Change c.txt? (1 of 2)").waitFor();
    assert.equal(await toast.count(), 1);
    await w.command("agentls: Answer Questions…");
    await w.quick("Questions of agentls");
    await w.row("Change d.txt?").waitFor();
    await w.shot("questions list");
    await w.quickButton("Deny", "Change c.txt?");
    await w.toast("Change d.txt?").waitFor();
    assert.deepEqual(await answer(w, 2), { decision: "deny" });
    await w.quickButton("Deny", "Change d.txt?");
    assert.deepEqual(await answer(w, 3), { decision: "deny" });
    await gone(toast);
    await gone(w.quickRows().first());
  });
});

test("a question that is a dialog", async (t) => {
  const w = await workbench(t, { settings: { ...hidden, "agentls.questions.show": "modal" } });

  await t.test("it closes when its run is cancelled", async () => {
    await askToWrite(w, "a.txt");
    const dialog = await w.quick("agentls asks: Change a.txt?");
    await w.shot("questions dialog");
    await w.toast("CALL write_file").locator(".monaco-text-button", { hasText: "Cancel" }).click();
    await dialog.waitFor({ state: "hidden" });
    assert.equal(exists(w, "a.txt"), false);
  });

  await t.test("Enter never allows", async () => {
    await askToWrite(w, "b.txt");
    await w.quick("agentls asks: Change b.txt?");
    const five = ["Enter", "Enter", "Enter", "Enter", "Enter"];
    await w.press(...five); // the first one is for Review…
    const q = w.panel().getByRole("group", { name: "Change b.txt?" });
    await w.until("the focus on the card", () => q.evaluate((e) => e === e.ownerDocument.activeElement));
    await w.press(...five);
    await w.panel().locator("textarea").last().focus();
    await w.press(...five);
    await q.getByRole("button", { name: "Deny" }).click();
    assert.deepEqual(await answer(w, 1), { decision: "deny" });
    assert.equal(exists(w, "b.txt"), false);
  });
});

test("questions in the chat view", async (t) => {
  const server = { command: process.execPath, args: [join(extensionFolder, "..", "testing", "mcp.mjs"), "own.log"] };
  const files = { ".mcp.json": JSON.stringify({ mcpServers: { evil: server } }) };
  const w = await workbench(t, { settings: hidden, files });
  const card = (name: string | RegExp): Locator => w.panel().getByRole("group", { name });
  const button = (of: Locator, name: string): Locator => of.getByRole("button", { name });
  const answerBy = (of: Locator, name: string): Promise<void> => answerCard(w, of, name);

  await t.test("a server of the project is shown whole, and starts after a yes", async () => {
    await w.toast("Start the MCP server evil?").waitFor();
    await w.toastButton("agentls asks", "Review…");
    const trust = card("Start the MCP server evil?");
    await trust.waitFor();
    await gone(w.toast("agentls asks"));
    const text = await trust.innerText();
    for (const said of [process.execPath, "mcp.mjs", "own.log", ".mcp.json"]) assert.ok(text.includes(said), text);
    await w.press("Enter", "Enter", "Enter", "Enter", "Enter"); // the card has the focus
    await answerBy(trust, "Trust and Start");
    assert.deepEqual(await answer(w, 0), { decision: "once" });
    await gone(trust);
  });

  await t.test("a yes writes", async () => {
    await askToWrite(w, "a.txt");
    const q = card("Change a.txt?");
    await w.shot("questions card", q);
    await answerBy(q, "Allow Once");
    await w.until("the file", () => exists(w, "a.txt"));
    await gone(q);
  });

  await t.test("a no tells the model why", async () => {
    await askToWrite(w, "b.txt");
    const q = card("Change b.txt?");
    await q.getByPlaceholder("Why not? (optional)").fill("not on a Monday");
    await answerBy(q, "Deny");
    assert.deepEqual(await answer(w, 2), { decision: "deny", reason: "not on a Monday" });
    await gone(q);
    assert.equal(exists(w, "b.txt"), false);
  });

  await t.test("edited arguments are what is done", async () => {
    await askToWrite(w, "c.txt");
    const q = card("Change c.txt?");
    await q.locator("summary").click();
    await button(q, "Edit Arguments").click();
    await q.getByLabel("The arguments, as JSON").fill('{"path": "edited.txt", "content": "two\\n"}');
    await answerBy(q, "Allow Once");
    await w.until("the file", () => exists(w, "edited.txt"));
    assert.equal(w.world.read("edited.txt"), "two\n");
    assert.equal(exists(w, "c.txt"), false);
  });

  await t.test("an edit is compared in the diff editor, which closes with the question", async () => {
    const edits = { path: "world.txt", edits: [{ old: "the second line", new: "line two" }] };
    await w.command("agentls: Ask…");
    await w.input("Ask", `CALL edit_file ${JSON.stringify(edits)}`);
    const q = card("Change world.txt?");
    await button(q, "Show Diff").click();
    const tab = w.tab("now ↔ proposed by agentls");
    await tab.waitFor();
    await w.page.locator(".monaco-diff-editor .modified .view-line", { hasText: "line two" }).waitFor();
    await w.shot("questions diff");
    await answerBy(q, "Allow Once");
    await gone(tab);
    await w.until("the edit", () => w.world.read("world.txt") === "the first line\nline two\n");
  });

  await t.test("a form is asked about anew at the field that does not fit", async () => {
    const requestedSchema = {
      type: "object",
      properties: { name: { type: "string", minLength: 2 } },
      required: ["name"],
    };
    await w.command("agentls: Ask…");
    await w.input("Ask", `CALL elicit ${JSON.stringify({ params: { message: "Who?", requestedSchema } })}`);
    await answerBy(card(/^Run elicit of/), "Allow Once");
    const form = card(/asks you$/);
    await form.getByLabel("name").fill("A");
    await answerBy(form, "Send");
    await form.getByText("Needs at least 2 characters.").waitFor();
    assert.equal(await form.getByLabel("name").inputValue(), "A");
    await form.getByLabel("name").fill("Ada");
    await answerBy(form, "Send");
    await w.until("the answer", () => JSON.stringify(w.world.requests()).includes('\\"name\\":\\"Ada\\"'));
  });
});
