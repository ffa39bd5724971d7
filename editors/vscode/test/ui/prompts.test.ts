// Prompt buffers: sending, and what happens around an answer that grows.
import assert from "node:assert/strict";
import { test } from "node:test";
import { workbench, type Workbench } from "../driver/workbench";

/** The buffer as the server has it: what it wrote, and what was typed. */
async function fresh(w: Workbench, text: string): Promise<void> {
  await w.editor().locator(".view-lines").click();
  await w.press("Control+A", "Delete");
  await w.type("## You\n\n" + text);
}

const saved = (w: Workbench) => w.world.read("a.agentls.md");
const sends = (w: Workbench) =>
  w.world.sent("editor", "workspace/executeCommand").filter(({ params }) => params.command === "agentls.send");
const lens = (w: Workbench, title: string | RegExp) =>
  w.page.locator(".codelens-decoration a").filter({ hasText: title }).first();
const title = (w: Workbench, label: string) =>
  w.page.locator(`.editor-actions .action-label[aria-label^=${JSON.stringify(label)}]`);

/** The response of the last send. */
const response = (w: Workbench) =>
  w.until("the response", () => {
    const last = sends(w).at(-1);
    return last && w.world.response(last);
  });

test("a prompt is sent and answered in its buffer", async (t) => {
  const w = await workbench(t, {
    files: { "a.agentls.md": "## You\n\n" },
    settings: { "files.autoSave": "afterDelay", "files.autoSaveDelay": 100, "files.trimTrailingWhitespace": true },
  });
  await w.openFile("a.agentls.md");

  await t.test("by the key, and the cursor is in the next turn", async () => {
    await fresh(w, "SAY one two");
    await w.press("Control+Enter");
    await w.until("the answer", async () => (await w.text()).includes("## Agent\n\none two\n\n## You\n"));
    assert.equal((await response(w)).result.status, "completed");
    await w.type("next");
    await w.until("the file", () => saved(w) === "## You\n\nSAY one two\n\n## Agent\n\none two\n\n## You\nnext");
    const [argument] = sends(w).at(-1)!.params.arguments;
    assert.equal(argument.stream, true);
    assert.deepEqual(argument.position, { line: 2, character: 11 });
    assert.ok(sends(w).at(-1)!.params.workDoneToken);
  });

  await t.test("by the lens, which then offers to send again", async () => {
    await fresh(w, "SAY by the lens");
    await lens(w, "Send").click();
    await w.until("the answer", async () => (await w.text()).includes("## Agent\n\nby the lens"));
    await response(w);
    assert.equal(sends(w).at(-1)!.params.arguments[0].stream, true);
    await lens(w, "Send again").waitFor();
  });

  await t.test("by the button in the title", async () => {
    await fresh(w, "SAY by the title");
    await title(w, "Send Prompt").click();
    await w.until("the answer", async () => (await w.text()).includes("## Agent\n\nby the title"));
    await response(w);
  });

  await t.test("what is typed meanwhile stays, and the answer stays whole", async () => {
    await fresh(w, "SLOW");
    await w.press("Control+Enter");
    for (const n of [10, 20, 30]) {
      await w.until(`word ${n}`, async () => (await w.text()).includes(`word${n}`));
      await w.type(`typed${n} `, 5);
    }
    await w.press("Control+Home");
    await w.type("/plan is not this\n\n".slice(6), 5);
    await title(w, "Cancel Run").click();
    assert.equal((await response(w)).error!.code, -32800);
    await w.until("the end", () => saved(w).includes("*(cancelled)*"));
    const text = saved(w);
    assert.match(text, /\*\(cancelled\)\*\n\n## You\ntyped10 typed20 typed30 ?$/);
    assert.ok(text.startsWith("is not this\n\n## You\n\nSLOW\n\n## Agent\n\nword1 word2 "), text);
    const words = /## Agent\n\n([^*]*)/.exec(text)![1]!.trim().split(/\s+/);
    assert.deepEqual(
      words,
      Array.from(words, (_, i) => `word${i + 1}`),
    );
  });

  await t.test("cancelled by its notification; the title offers to send again", async () => {
    await fresh(w, "SLOW");
    await w.press("Control+Enter");
    await w.until("words", async () => (await w.text()).includes("word5"));
    const gone = w.world.hungUp();
    await w.toastButton("a.agentls.md", "Cancel");
    assert.equal((await response(w)).error!.code, -32800);
    await w.until("the provider's socket is closed", () => w.world.hungUp() > gone);
    await title(w, "Send Prompt").waitFor();
    await w.until("no toast", async () => (await w.toast("a.agentls.md").count()) === 0);
  });

  await t.test("the view follows the end, until one scrolls up", async () => {
    await fresh(w, "SLOW");
    await w.press("Control+Enter");
    await w.until("the end is in sight", async () => /word4\d\d[^]*## You\n$/.test(await w.text()), 60_000);
    // An edit that is on its way as the wheel turns shows the end once more.
    await w.page.mouse.move(700, 400);
    let before = "";
    const first = await w.until("lines that stand still", async () => {
      const text = await w.text();
      if (text.trimEnd().endsWith("## You")) await w.page.mouse.wheel(0, -300);
      const still = text === before && !text.trimEnd().endsWith("## You");
      before = text;
      return still && text.split("\n")[0];
    });
    const last = [...(await w.text()).matchAll(/word(\d+)/g)].at(-1)![1];
    await w.until("the answer grows", () => saved(w).includes(`word${Number(last) + 200}`), 60_000);
    assert.equal((await w.text()).split("\n")[0], first);
    await title(w, "Cancel Run").click();
    await response(w);
  });
});
