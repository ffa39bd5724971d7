// From a problem that another extension reports to a file that is mended, and back.
import assert from "node:assert/strict";
import { test } from "node:test";
import { answerCard } from "./steps";
import { workbench } from "../driver/workbench";

const call = JSON.stringify({ path: "page.css", edits: [{ old: "\ncolr:", new: "\ncolor:" }] });
const wrong = `/* CALL edit_file ${call} */\na {\ncolr: red;\n}\n`;
const right = wrong.replace("\ncolr: red", "\ncolor: red");

test("the story of a problem that is fixed", async (t) => {
  const w = await workbench(t, { files: { "page.css": wrong } });
  const { world } = w;

  await t.test("the action on a problem asks for an edit, whose diff is the editor's own", async () => {
    const editor = await w.openFile("page.css");
    await editor.locator(".squiggly-warning").waitFor();
    await w.goTo(3, 2);
    await w.codeAction(/^Fix: Unknown property/);
    const card = w.panel().getByRole("group", { name: "Change page.css?" });
    await card.getByRole("button", { name: "Show Diff" }).click();
    const diff = w.page.locator(".monaco-diff-editor");
    await diff.locator(".modified .view-line", { hasText: "color: red" }).waitFor();
    await diff.locator(".original .view-line", { hasText: "colr: red" }).waitFor();
    assert.equal(world.read("page.css"), wrong);
  });

  await t.test("what is accepted is in the editor and on the disk, and the diff is gone", async () => {
    await answerCard(w, w.panel().getByRole("group", { name: "Change page.css?" }), "Allow Once");
    await w.page.locator(".monaco-diff-editor").waitFor({ state: "hidden" });
    await w.until("the file on the disk", () => world.read("page.css") === right);
    await w.openFile("page.css");
    await w.until("the text in the editor", async () => /color:\s+red/.test(await w.text()));
    await w.panel().getByText("Undo run").waitFor();
    await w.editor().locator(".squiggly-warning").waitFor({ state: "hidden" });
  });

  await t.test("what the run changed is undone", async () => {
    await w.panel().getByText("Undo run").click();
    await w.until("the old text on the disk", () => world.read("page.css") === wrong);
    await w.until("the old text in the editor", async () => /colr:\s+red/.test(await w.text()));
  });
});
