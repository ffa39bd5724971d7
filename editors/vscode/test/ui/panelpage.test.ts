// The chat view's page by itself: what a workbench would only make slow.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import type { Row, Turn } from "../../src/panel/messages.js";
import { PanelPage } from "../driver/panelpage.js";
import { launch } from "../driver/vscode.js";
import { extensionFolder } from "../driver/world.js";

type Options = Omit<Parameters<typeof PanelPage.open>[1], "dist">;

async function opened(t: TestContext, o: Options = {}): Promise<PanelPage> {
  const { browser, close } = await launch();
  t.after(close);
  return await PanelPage.open(browser, { dist: join(extensionFolder, "dist"), ...o });
}

const turn = (id: string, more: Partial<Turn> = {}): Turn => ({
  id,
  own: true,
  prompt: `ask ${id}`,
  rows: [],
  ...more,
});
const conversation = (...turns: Turn[]) =>
  ({ type: "conversation", session: "s", title: "T", loading: false, turns }) as const;
const tool = (id: string, state = "completed"): Row => ({
  id,
  kind: "tool",
  call: { id, tool: `tool-${id}`, state, arguments: "{}" },
});

test("the page draws, bounds and follows", async (t) => {
  const p = await opened(t);
  const { page } = p;
  const scroller = page.locator(".scroller");
  const fromEnd = (): Promise<number> => scroller.evaluate((e) => e.scrollHeight - e.scrollTop - e.clientHeight);

  await t.test("a megabyte comes in 10,000 parts, and all of it is there", async (t) => {
    await p.say(conversation(turn("1", { status: "running", rows: [{ id: "0", kind: "text", text: "" }] })));
    const took = await page.evaluate(async () => {
      const begun = performance.now();
      let longest = 0;
      let last = begun;
      let frames = 0;
      const look = (now: number): void => {
        longest = Math.max(longest, now - last);
        last = now;
        frames++;
        if (frames < 100_000) requestAnimationFrame(look);
      };
      requestAnimationFrame(look);
      for (let n = 0; n < 10_000; n += 170) {
        // A second of events, in the 60 messages that the extension makes of them.
        const text = Array.from(
          { length: 170 },
          (_, i) =>
            `word${n + i} is **one** of many words that say little, but take the room of a hundred characters.${i % 7 ? " " : "\n\n"}`,
        ).join("");
        window.dispatchEvent(
          new MessageEvent("message", {
            data: { type: "patch", session: "s", append: [{ turn: "1", row: "0", text }] },
          }),
        );
        await new Promise((done) => setTimeout(done, 0));
      }
      const sent = performance.now();
      while (!document.querySelector(".log")?.textContent.includes("word9999"))
        await new Promise(requestAnimationFrame);
      frames = 100_000;
      return { sent: sent - begun, drawn: performance.now() - begun, longest };
    });
    t.diagnostic(
      `sent in ${took.sent.toFixed(0)} ms, drawn after ${took.drawn.toFixed(0)} ms, longest frame ${took.longest.toFixed(0)} ms`,
    );
    const text = (await page.locator(".log").textContent()) ?? "";
    for (const word of ["word0 ", "word5000 ", "word9999 "]) assert.ok(text.includes(word), word);
    assert.ok(!text.includes("**"));
    await page.waitForFunction(() => {
      const e = document.querySelector(".scroller");
      return e !== null && e.scrollHeight - e.scrollTop - e.clientHeight < 2;
    });
  });

  await t.test("it follows until one scrolls up, and from the button on again", async () => {
    await scroller.hover();
    await page.mouse.wheel(0, -600);
    const jump = page.getByRole("button", { name: "Jump to the end" });
    await jump.waitFor();
    const top = await scroller.evaluate((e) => e.scrollTop);
    await p.say({ type: "patch", session: "s", append: [{ turn: "1", row: "0", text: "\n\nmore\n\n".repeat(50) }] });
    await page.getByText("more").last().waitFor({ state: "attached" });
    assert.ok(Math.abs((await scroller.evaluate((e) => e.scrollTop)) - top) < 2, "what is read stays where it is");
    await jump.click();
    await jump.waitFor({ state: "hidden" });
    assert.ok((await fromEnd()) < 2);
  });

  await t.test("of a thousand lines 300 are in the document, the others come by scrolling", async () => {
    await p.say(conversation(turn("1", { rows: Array.from({ length: 1000 }, (_, i) => tool(String(i))) })));
    await page.getByText("tool-999", { exact: true }).waitFor();
    assert.equal(await page.locator(".row").count(), 300);
    for (let n = 0; n < 40 && (await page.getByText("ask 1").count()) === 0; n++) {
      await scroller.evaluate((e) => (e.scrollTop = 0));
      await page.evaluate(() => new Promise(requestAnimationFrame));
      assert.ok((await page.locator(".row").count()) <= 300);
    }
    await page.getByText("tool-0", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Jump to the end" }).click();
    await page.getByText("tool-999", { exact: true }).waitFor();
  });

  await t.test("nothing of an answer runs, is loaded or becomes markup", async () => {
    const asked: string[] = [];
    page.on("request", (r) => asked.push(r.url()));
    const text = `<img src="http://panel.test/x" onerror="window.hacked=1"> ![i](http://panel.test/y) [c](command:x) [j](javascript:window.hacked=1) <script>window.hacked=1</script>`;
    await p.say(
      conversation(
        turn("1", {
          prompt: text,
          rows: [
            { id: "0", kind: "text", text },
            { id: "1", kind: "note", text },
          ],
        }),
      ),
    );
    await page.getByText("(command:x)").first().waitFor();
    assert.equal(await page.locator("img, script:not([nonce]), iframe, a[href]").count(), 0);
    assert.equal(await page.evaluate(() => "hacked" in window), false);
    assert.deepEqual(asked, []);
    await page.locator(".link").first().click();
    assert.deepEqual(await p.next("open", 0), { type: "open", href: "http://panel.test/y" });
  });
});

test("the input", async (t) => {
  const p = await opened(t, { kept: { draft: "kept", session: "old" } });
  const input = p.page.getByRole("combobox", { name: "Prompt" });

  await t.test("what was typed before is there, and said", async () => {
    assert.equal(await input.inputValue(), "kept");
    assert.deepEqual(await p.next("ready", 0), {
      type: "ready",
      session: "old",
      draft: "kept",
      version: 0,
      mode: "react",
    });
  });

  await t.test("Enter sends, Shift+Enter does not, nor does Enter while one composes", async () => {
    await input.fill("one");
    await input.press("Shift+Enter");
    await input.pressSequentially("two");
    await input.evaluate((e) =>
      e.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", isComposing: true, bubbles: true })),
    );
    assert.deepEqual(await p.heard("send"), []);
    await input.press("Enter");
    assert.deepEqual(await p.next("send", 0), { type: "send", text: "one\ntwo", how: "ask" });
    assert.equal(await input.inputValue(), "");
  });

  await t.test(
    "while a run works Enter adds to it, Alt+Enter sends the next prompt, and a command is one",
    async () => {
      await p.say(conversation(turn("1", { status: "running" })));
      await p.page.getByText("Enter adds to the run").waitFor();
      for (const [text, key, how] of [
        ["a", "Enter", "steer"],
        ["b", "Alt+Enter", "ask"],
        ["/cancel", "Enter", "ask"],
      ] as const) {
        const n = (await p.heard("send")).length;
        await input.fill(text);
        await p.say({ type: "suggestions", id: 0, list: [], incomplete: false });
        await input.press(key);
        assert.deepEqual(await p.next("send", n), { type: "send", text, how });
      }
    },
  );

  await t.test("what was refused comes back above what is typed, with the reason", async () => {
    await input.fill("new");
    await p.say({ type: "refused", text: "old", why: "It was not added." });
    await p.page.getByRole("status").getByText("It was not added.").first().waitFor();
    assert.equal(await input.inputValue(), "old\n\nnew");
  });

  await t.test("an answer to an older question is not shown", async () => {
    await input.fill("");
    await input.pressSequentially("@w");
    const [first, second] = (await p.heard("complete")).slice(-2);
    const list = [{ label: "w", filter: "@w", start: 0, end: 1, text: "@w:", icon: "server", more: true } as const];
    await p.say({ type: "suggestions", id: first?.id ?? 0, list, incomplete: true });
    assert.equal(await p.page.getByRole("listbox").isVisible(), false);
    await p.say({ type: "suggestions", id: second?.id ?? 0, list, incomplete: true });
    await p.page.getByRole("listbox").waitFor();
    await input.press("Tab");
    assert.equal(await input.inputValue(), "@w:");
    assert.equal((await p.heard("complete")).at(-1)?.text, "@w:");
  });
});
