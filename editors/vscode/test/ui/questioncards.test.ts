// The cards of questions in the chat view's page, without VS Code around it: each place where Enter could say yes.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import type { Page } from "playwright-core";
import type { Answer, Question } from "../../src/questions/question.js";
import { page as html } from "../../src/panel/html.js";
import { launch } from "../driver/vscode";
import { extensionFolder } from "../driver/world";

const tool: Question = {
  id: "q1",
  seq: 1,
  kind: "tool",
  runId: "r",
  session: "s",
  server: "files",
  tool: "move",
  part: "step 2",
  description: "Moves a file.",
  reason: "no rule allows it",
  definitionChanged: true,
  covers: "move of files",
  decisions: ["deny", "once", "session", "always"],
  arguments: { from: "a", to: "b" },
  problem: "",
};

const bare = { description: "", reason: "", definitionChanged: false, covers: "", part: "" };
const twoWays: Question["decisions"] = ["deny", "once"];

/** What the page says to the extension. */
interface Posted {
  type: string;
  id?: string;
  answer?: Answer;
}

interface Cards {
  page: Page;
  open: () => Promise<void>;
  say: (message: unknown) => Promise<void>;
  show: (...questions: Question[]) => Promise<void>;
  at: (id: string, ...questions: Question[]) => Promise<void>;
  posted: (type: string) => Promise<Posted[]>;
  ready: () => Promise<void>;
}

async function cards(t: TestContext): Promise<Cards> {
  const { browser, close } = await launch();
  t.after(close);
  const host = "http://panel.test";
  const page = await browser.newPage({ viewport: { width: 380, height: 900 } });
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(error.message));
  t.after(() => assert.deepEqual(errors, []));
  await page.route(`${host}/**`, (route) => {
    const name = new URL(route.request().url()).pathname.slice(1);
    const text = html({ script: `${host}/panel.js`, style: `${host}/panel.css`, cspSource: host, nonce: "n" });
    if (name === "") return route.fulfill({ contentType: "text/html", body: text });
    const contentType = name.endsWith(".css") ? "text/css" : "text/javascript";
    return route.fulfill({ contentType, body: readFileSync(join(extensionFolder, "dist", name)) });
  });
  await page.addInitScript(() => {
    const state = { posted: [] as unknown[], kept: JSON.parse(sessionStorage.getItem("kept") ?? "null") as unknown };
    Object.assign(window, {
      posted: state.posted,
      acquireVsCodeApi: () => ({
        postMessage: (m: unknown) => state.posted.push(structuredClone(m)),
        getState: () => state.kept ?? undefined,
        setState: (kept: unknown) => sessionStorage.setItem("kept", JSON.stringify(kept)),
      }),
    });
  });
  const open = async (): Promise<void> => {
    await page.goto(`${host}/`);
    await page.locator("textarea").first().waitFor();
  };
  await open();
  const say = (m: unknown): Promise<void> =>
    page.evaluate((data) => void window.dispatchEvent(new MessageEvent("message", { data })), m);
  return {
    page,
    open,
    say,
    show: (...questions) => say({ type: "questions", questions }),
    at: (at, ...questions) => say({ type: "questions", questions, at }),
    posted: (type) =>
      page.evaluate((type) => (window as unknown as { posted: Posted[] }).posted.filter((m) => m.type === type), type),
    ready: () => page.locator('.question .buttons button[aria-disabled="false"]').first().waitFor(),
  };
}

const answers = (posted: Posted[]): [string | undefined, Answer | undefined][] => posted.map((m) => [m.id, m.answer]);

test("a card is answered by its buttons alone", async (t) => {
  const { page, show, at, posted, ready } = await cards(t);
  const button = (name: string | RegExp) => page.getByRole("button", { name });
  const enter = async (): Promise<void> => {
    for (let i = 0; i < 5; i++) await page.keyboard.press("Enter");
  };

  await t.test("what it says", async () => {
    await show(tool);
    const card = page.getByRole("group", { name: "Run move of files?" });
    const text = await card.innerText();
    for (const said of [
      "files · step 2",
      "Moves a file.",
      "Its definition is not the one",
      "from",
      "Asked because: no rule allows it",
    ])
      assert.ok(text.includes(said), `${said}: ${text}`);
    assert.deepEqual(
      (await card.locator(".buttons button").allInnerTexts()).map((words) => words.replace(/\s+/g, " ")),
      ["Deny", "Allow Once", "Allow for This Session move of files", "Always Allow move of files"],
    );
  });

  await t.test("it takes no focus, and no click before it has stood still", async () => {
    await show();
    await page.locator("textarea").first().focus();
    await show({ ...tool, seq: 2 });
    assert.equal(await page.evaluate(() => document.activeElement?.closest(".question") === null), true);
    await button("Allow Once").dispatchEvent("click");
    await button("Deny").dispatchEvent("click");
    assert.deepEqual(await posted("answer"), []);
    await ready();
    // Another one above it moves it: what is under the pointer is another button now.
    await show({ ...tool, id: "q0", seq: 3 }, { ...tool, seq: 2 });
    await page.locator('[data-question="q1"]').getByRole("button", { name: "Allow Once" }).dispatchEvent("click");
    assert.deepEqual(await posted("answer"), []);
    assert.equal(await page.locator('[data-question="q1"] .position').innerText(), "2 of 2");
  });

  await t.test("Enter says yes nowhere", async () => {
    await at("q1", tool);
    await ready();
    await enter(); // on the card, which has the focus
    await page.getByPlaceholder("Why not? (optional)").focus();
    await enter();
    await button("Edit Arguments").focus();
    await page.keyboard.press("Enter");
    await enter(); // in the text
    await page.locator(".question h3").click();
    await enter();
    assert.deepEqual(await posted("answer"), []);
    await button("Take the Edit Back").click();
    await ready();
    // A key that is held down is none that was meant for the button.
    await button("Allow Once").focus();
    await button("Allow Once").evaluate((b) => {
      const held = new KeyboardEvent("keydown", { key: "Enter", repeat: true, bubbles: true, cancelable: true });
      if (b.dispatchEvent(held)) throw new Error("a held key counts");
    });
    assert.deepEqual(await posted("answer"), []);
    await page.keyboard.press("Enter"); // on the button, where a person put the focus
    assert.deepEqual(answers(await posted("answer")), [["q1", { decision: "once" }]]);
    await button("Allow Once").dispatchEvent("click");
    assert.equal((await posted("answer")).length, 1, "once");
  });

  await t.test("a no has its reason", async () => {
    await show({ ...tool, id: "q2", seq: 4 });
    await page.getByPlaceholder("Why not? (optional)").fill("not now");
    await ready();
    await button("Deny").click();
    assert.deepEqual(answers(await posted("answer")).at(-1), ["q2", { decision: "deny", reason: "not now" }]);
  });

  await t.test("edited arguments are checked, and sent", async () => {
    await show({ ...tool, id: "q3", seq: 5, arguments: { text: "a\u202eb" } });
    await button("Edit Arguments").click();
    const text = page.getByLabel("The arguments, as JSON");
    assert.match(await text.inputValue(), /\\u202e/, "nothing in it stays unseen");
    await text.fill('{"text": ');
    await ready();
    const before = (await posted("answer")).length;
    await button("Always Allow").click();
    assert.equal((await posted("answer")).length, before);
    assert.match(await page.locator(".question .edit .problem").innerText(), /no JSON yet/);
    await text.fill('{"text": "c"}');
    await ready();
    await button("Always Allow").click();
    assert.deepEqual(answers(await posted("answer")).at(-1), ["q3", { decision: "always", arguments: { text: "c" } }]);
  });

  await t.test("what others wrote is text", async () => {
    const evil = "<img src=x onerror=alert(1)> [x](command:y)\u200b";
    await show({ ...tool, id: "q4", seq: 6, description: evil, arguments: { evil }, server: evil, reason: evil });
    const card = page.locator('[data-question="q4"]');
    assert.equal(await card.locator("img, a").count(), 0);
    assert.match(await card.innerText(), /<img src=x onerror=alert\(1\)> \[x\]\(command:y\)/);
    assert.ok((await card.getByText("U+200B").count()) > 0);
  });
});

test("what has been begun outlives the page, but no secret", async (t) => {
  const { page, show, open } = await cards(t);
  const form: Question = {
    ...tool,
    ...bare,
    id: "f",
    kind: "elicit",
    decisions: twoWays,
    form: {
      message: "files asks: Who?",
      fields: [
        { name: "name", title: "Name", kind: "string", required: true, secret: false },
        { name: "pin", title: "PIN", kind: "string", required: false, secret: true },
      ],
    },
  };
  const other = { ...tool, id: "other", seq: 2 };
  await show(form, other);
  await page.getByLabel("Name").fill("Ada");
  await page.getByLabel("PIN").fill("1234");
  await page.getByPlaceholder("Why not? (optional)").fill("because");
  await page.waitForFunction(() => sessionStorage.getItem("kept")?.includes("because"));
  assert.equal(await page.evaluate(() => sessionStorage.getItem("kept")?.includes("1234")), false);
  await open();
  await show(form, other);
  assert.equal(await page.getByLabel("Name").inputValue(), "Ada");
  assert.equal(await page.getByLabel("PIN").inputValue(), "");
  assert.equal(await page.getByPlaceholder("Why not? (optional)").inputValue(), "because");
  // A card that stays is not touched while another one goes.
  await page.getByLabel("Name").fill("Eve");
  await show(form);
  assert.equal(await page.getByLabel("Name").inputValue(), "Eve");
  assert.equal(await page.evaluate(() => document.activeElement?.id), "f-0");
});

test("a form asks for each field in its way", async (t) => {
  const { page, show, posted, ready } = await cards(t);
  const q: Question = {
    ...tool,
    ...bare,
    id: "f",
    kind: "elicit",
    decisions: twoWays,
    problem: 'agentls.approve: content must be {"name":"…"}: "name" must have 2 characters at least',
    previous: { name: "A" },
    form: {
      message: "files asks: Where to?",
      fields: [
        { name: "name", title: "Name", kind: "string", hint: "2 characters at least", required: true, secret: false },
        { name: "pin", title: "PIN", kind: "string", required: true, secret: true },
        {
          name: "stage",
          title: "Stage",
          kind: "enum",
          required: true,
          secret: false,
          options: [
            { value: 1, title: "Dev" },
            { value: 2, title: "Prod" },
          ],
        },
        {
          name: "tags",
          title: "Tags",
          kind: "enums",
          required: false,
          secret: false,
          options: [
            { value: "a", title: "Eins" },
            { value: "b", title: "Zwei" },
          ],
          default: ["a"],
        },
        { name: "sure", title: "Sure", kind: "boolean", required: false, secret: false },
        { name: "n", title: "Count", kind: "integer", required: false, secret: false, default: 3 },
        { name: "hosts", title: "Hosts", kind: "list", required: false, secret: false },
      ],
    },
  };
  await show(q);
  assert.equal(await page.getByLabel("Name").inputValue(), "A");
  assert.equal(await page.getByLabel("Name").getAttribute("aria-invalid"), "true");
  assert.match(await page.locator(".question").innerText(), /Must have 2 characters at least\./);
  assert.equal(await page.getByLabel("PIN").getAttribute("type"), "password");
  await ready();
  await page.getByRole("button", { name: "Send", exact: true }).click();
  assert.deepEqual(await posted("answer"), []);
  assert.equal(await page.evaluate(() => document.activeElement?.id), "f-1", "the first that is lacking");
  await page.getByLabel("Name").fill("Ada");
  await page.getByLabel("PIN").fill("1234");
  await page.getByLabel("PIN").press("Enter");
  await page.getByLabel("Stage").selectOption({ label: "Prod" });
  await page.getByLabel("Eins").uncheck();
  await page.getByLabel("Zwei").check();
  await page.getByLabel("Sure").selectOption({ label: "No" });
  await page.getByLabel("Count").fill("");
  await page.getByLabel("Hosts").fill("h1\nh2\n");
  assert.deepEqual(await posted("answer"), []);
  await ready();
  await page.getByRole("button", { name: "Send", exact: true }).click();
  assert.deepEqual(answers(await posted("answer")), [
    [
      "f",
      {
        decision: "once",
        content: { name: "Ada", pin: "1234", stage: 2, tags: ["b"], sure: false, n: null, hosts: ["h1", "h2"] },
      },
    ],
  ]);
});

test("a link is shown whole, with its host", async (t) => {
  const { page, show, posted, ready } = await cards(t);
  const url = `https://pay.example.org/sign?x=${"y".repeat(300)}&next=https://other.example`;
  await show({
    ...tool,
    ...bare,
    id: "l",
    kind: "elicit",
    decisions: twoWays,
    link: { message: "files wants …", url, host: "pay.example.org", opened: false },
  });
  assert.equal(await page.locator(".question .host strong").innerText(), "pay.example.org");
  assert.equal(await page.locator(".question .url").innerText(), url);
  const [box, width] = await page.locator(".question .url").evaluate((e) => [e.scrollWidth, e.clientWidth]);
  assert.ok(box <= width, "nothing of it is out of sight");
  await ready();
  await page.getByRole("button", { name: "Cancel" }).click();
  assert.deepEqual(answers(await posted("answer")), [["l", { decision: "cancel" }]]);
});

test("a plan is read, edited and revised", async (t) => {
  const { page, show, posted, ready } = await cards(t);
  const plan: Question = {
    ...tool,
    ...bare,
    id: "p",
    kind: "plan",
    server: "",
    tool: "submit_plan",
    decisions: twoWays,
    steps: [
      { id: "a", title: "Look", task: "look around", dependsOn: [] },
      { id: "b", title: "Write", task: "write it", dependsOn: ["a"] },
    ],
  };
  const button = (name: string) => page.getByRole("button", { name, exact: true });
  await show(plan);
  assert.match(
    (await page.locator(".planview").innerText()).replace(/\s+/g, " "),
    /Look look around Write after 1 write it/,
  );
  await ready();
  await button("Run Plan").click();
  assert.deepEqual(answers(await posted("answer")).at(-1), ["p", { decision: "once" }]);

  await show({ ...plan, seq: 2 });
  await button("Edit Plan").click();
  await button("Remove step 1").click();
  await button("Add Step").click();
  await page.getByLabel("Title of step 2").fill("Test");
  await ready();
  await button("Run Plan").click();
  assert.match(await page.locator(".planview .problem").innerText(), /Step 2 says nothing/);
  await page.getByLabel("What step 2 is to do").fill("run the tests");
  await page.getByRole("group", { name: "Steps before step 2" }).getByLabel("1").check();
  await button("Move step 2 up").click();
  await ready();
  await button("Run Plan").click();
  assert.deepEqual(answers(await posted("answer")).at(-1), [
    "p",
    {
      decision: "once",
      content: {
        steps: [
          { id: "step2", title: "Test", task: "run the tests", dependsOn: ["b"] },
          { id: "b", title: "Write", task: "write it", dependsOn: [] },
        ],
      },
    },
  ]);

  await show({ ...plan, id: "p2", seq: 3 });
  await ready();
  await button("Ask for Another Plan").click();
  assert.match(await page.locator(".question > .problem").innerText(), /Say what should be different/);
  await page.getByPlaceholder("What should be different?").fill("shorter");
  await ready();
  await button("Ask for Another Plan").click();
  assert.deepEqual(answers(await posted("answer")).at(-1), ["p2", { decision: "revise", reason: "shorter" }]);
});

test("an edit is shown, and compared in the editor on demand", async (t) => {
  const { page, show, posted } = await cards(t);
  const diff = `--- a\n+++ a\n@@ -1,2 +1,31 @@\n one\n-two\n${Array.from({ length: 30 }, (_, i) => `+line ${i}\n`).join("")}`;
  await show({
    ...tool,
    ...bare,
    id: "d",
    server: "",
    tool: "edit_file",
    preview: { uri: "file:///w/a.ts", path: "a.ts", added: 30, removed: 1, diff },
  });
  const card = page.locator(".question");
  assert.match(await card.innerText(), /Change a\.ts\?/);
  assert.equal(await card.locator(".diff .added").count(), 10);
  await page.getByRole("button", { name: "Show all 32 lines" }).click();
  assert.equal(await card.locator(".diff .added").count(), 30);
  assert.equal(await card.locator(".diff .removed").innerText(), "-two\n");
  await page.getByRole("button", { name: "Show Diff" }).click();
  assert.deepEqual(await posted("diff"), [{ type: "diff", id: "d" }]);
});

test("what a tool says of itself is folded where it is long", async (t) => {
  const { page, show } = await cards(t);
  const description = "Moves a file. ".repeat(30) + "It overwrites.";
  const card = page.locator(".question");
  await show({ ...tool, definitionChanged: false, description });
  assert.doesNotMatch(await card.innerText(), /It overwrites/);
  await page.getByRole("button", { name: "Show the whole description" }).click();
  assert.match(await card.innerText(), /It overwrites/);
  await show({ ...tool, seq: 2, description }); // another one than was allowed
  assert.match(await card.innerText(), /It overwrites/);
  await show({ ...tool, seq: 3, server: "", description });
  assert.doesNotMatch(await card.innerText(), /Moves a file/);
});

test("a long card gives way, and the input stays whole", async (t) => {
  const { page, say, show } = await cards(t);
  const turn = { id: "r", own: true, prompt: "p", status: "running", rows: [], startedAt: Date.now() };
  await say({ type: "conversation", session: "s", title: "", loading: false, turns: [turn] });
  await page.locator(".composer .hint").waitFor();
  await show({ ...tool, arguments: Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`a${i}`, i])) });
  for (const height of [900, 500]) {
    await page.setViewportSize({ width: 300, height });
    for (const whole of [page.locator(".composer .hint"), page.getByRole("button", { name: "Allow Once" })]) {
      const box = (await whole.boundingBox())!;
      assert.ok(box.y >= 0 && box.y + box.height <= height, `${height}: ${JSON.stringify(box)}`);
    }
  }
});

test("the focus of a card that goes is never on a yes", async (t) => {
  const { page, show, ready } = await cards(t);
  const next = { ...tool, id: "n", seq: 2 };
  await show(tool, next);
  await ready();
  await page.locator('[data-question="q1"]').getByRole("button", { name: "Allow Once" }).focus();
  await show(next);
  assert.equal(await page.evaluate(() => document.activeElement?.getAttribute("data-question")), "n");
  await show();
  assert.equal(await page.evaluate(() => document.activeElement?.tagName), "TEXTAREA");
  assert.equal(await page.locator(".questions").isVisible(), false);
});

test("how long is left counts down", async (t) => {
  const { page, show } = await cards(t);
  await page.clock.install();
  await show({ ...tool, deadline: await page.evaluate(() => Date.now() + 61_000) });
  const left = page.locator(".question .left");
  assert.equal(await left.innerText(), "denied in 1:01");
  assert.equal(await left.evaluate((e) => e.classList.contains("soon")), false);
  await page.clock.runFor(3000);
  assert.equal(await left.innerText(), "denied in 0:58");
  assert.equal(await left.evaluate((e) => e.classList.contains("soon")), true);
});
