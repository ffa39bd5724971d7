import assert from "node:assert/strict";
import test from "node:test";
import type { Row, Suggestion, Turn } from "../../src/panel/messages.js";
import { words } from "../../webview/duration.js";
import { fitting } from "../../webview/fitting.js";
import { History } from "../../webview/history.js";
import { empty, linesOf, liveTurn, promptsOf, rowsOf, take } from "../../webview/state.js";

const turn = (id: string, more: Partial<Turn> = {}): Turn => ({
  id,
  own: true,
  prompt: `ask ${id}`,
  rows: [],
  ...more,
});
const call = (id: string, part?: string): Row => ({
  id,
  kind: "tool",
  call: { id, tool: "t", state: "running", ...(part === undefined ? {} : { part }) },
});
const plan: Row = {
  id: "p",
  kind: "plan",
  plan: 1,
  steps: [1, 2].map((n) => ({ id: `s${n}`, title: "", dependsOn: [] })),
};

function opened(...turns: Turn[]) {
  const state = empty();
  take(state, { type: "conversation", session: "s", title: "", turns, loading: false });
  return state;
}

test("a conversation is drawn anew, a patch where it says", () => {
  const state = empty();
  const whole = take(state, { type: "conversation", session: "s", title: "T", turns: [turn("1")], loading: false });
  assert.deepEqual([whole.all, whole.structure], [true, true]);
  const { id, own, prompt } = turn("1");
  const change = take(state, {
    type: "patch",
    session: "s",
    heads: [{ id, own, prompt, status: "running" }],
    rows: [{ turn: "1", row: { id: "0", kind: "text", text: "a" } }],
    append: [{ turn: "1", row: "0", text: "b" }],
  });
  assert.equal(change.structure, true);
  assert.deepEqual(
    linesOf(state).map((l) => l.key),
    ["1/prompt", "1/0", "1/end"],
  );
  assert.deepEqual(state.turns[0]?.rows, [{ id: "0", kind: "text", text: "ab" }]);
  assert.equal(change.touched.get("1/0"), undefined, "drawn as a whole, with what was added");
  const more = take(state, { type: "patch", session: "s", append: [{ turn: "1", row: "0", text: "c" }] });
  assert.deepEqual([more.structure, [...more.touched]], [false, [["1/0", "c"]]]);
});

test("what is said of another conversation, or of what is not there, changes nothing", () => {
  const state = opened(turn("1"));
  const before = structuredClone(state);
  take(state, { type: "patch", session: "other", rows: [{ turn: "1", row: call("c") }] });
  take(state, {
    type: "patch",
    session: "s",
    rows: [{ turn: "2", row: call("c") }],
    append: [{ turn: "1", row: "9", text: "x" }],
  });
  assert.deepEqual(state, before);
});

test("a head that leaves something out takes it away", () => {
  const state = opened(
    turn("1", { status: "running", usage: { promptTokens: 1, completionTokens: 1, totalTokens: 2 } }),
  );
  take(state, { type: "patch", session: "s", heads: [{ id: "1", own: true, prompt: "p" }] });
  assert.equal(state.turns[0]?.usage, undefined);
  assert.equal(state.turns[0]?.status, undefined);
});

test("calls of a step stand under the plan before them; a reviewer's with its step", () => {
  const again: Row = { ...plan, id: "p2", kind: "plan", plan: 2 };
  const t = turn("1", {
    rows: [
      call("early", "step 1"),
      plan,
      call("a", "step 1"),
      call("own"),
      call("r", "reviewer 1"),
      call("b", "step 2"),
      again,
      call("c", "step 1"),
    ],
  });
  const state = opened(t);
  assert.deepEqual(
    linesOf(state).map((l) => l.key),
    ["1/prompt", "1/early", "1/p", "1/own", "1/p2"],
  );
  const ids = (p: Row, n: number): string[] => rowsOf(t, p, n).map((r) => r.id);
  assert.deepEqual([ids(plan, 1), ids(plan, 2), ids(again, 1)], [["a", "r"], ["b"], ["c"]]);
  const change = take(state, { type: "patch", session: "s", rows: [{ turn: "1", row: call("b", "step 2") }] });
  assert.deepEqual([...change.touched.keys()], ["1/p"]);
});

test("what a text would be added to is the run that works, not one that waits behind it or is over", () => {
  assert.equal(
    liveTurn(
      opened(turn("1", { status: "completed" }), turn("2", { status: "waiting" }), turn("3", { status: "queued" })),
    )?.id,
    "2",
  );
  assert.equal(liveTurn(opened(turn("1", { own: false, status: "running" }))), undefined);
});

test("prompts come once each", () => {
  assert.deepEqual(
    promptsOf(opened(turn("1", { prompt: "a" }), turn("2", { prompt: "" }), turn("3", { prompt: "a" }))),
    ["a"],
  );
});

test("suggestions that still fit", () => {
  const s = (filter: string, start = 4): Suggestion => ({
    label: filter,
    filter,
    start,
    end: start + 1,
    text: filter,
    icon: "file",
    more: false,
  });
  const list = [s("@fs:file:///a.md"), s("@fs:"), s("@workspace:")];
  const fit = (text: string, cursor = text.length): string[] => fitting(list, text, cursor).map((x) => x.filter);
  assert.deepEqual(fit("see @"), ["@fs:file:///a.md", "@fs:", "@workspace:"]);
  assert.deepEqual(fit("see @FS:"), ["@fs:file:///a.md", "@fs:"]);
  assert.deepEqual(fit("see @fsa.md"), ["@fs:file:///a.md"]);
  assert.deepEqual(
    fitting([s("@w:man"), s("@w:no.md")], "see @w:no", 9).map((x) => x.text),
    ["@w:no.md"],
  );
  assert.deepEqual(
    fitting([s("@w:mango"), s("@w:no.md")], "see @w:n", 8).map((x) => x.text),
    ["@w:no.md", "@w:mango"],
  );
  assert.deepEqual(fit("see"), [], "the cursor stands before them");
  assert.deepEqual(fit("see @\n"), []);
});

test("the history gives what was typed back", () => {
  const h = new History();
  const sent = ["one", "two"];
  assert.equal(h.step(1, sent, "draft"), undefined);
  assert.deepEqual([h.step(-1, sent, "draft"), h.step(-1, sent, ""), h.step(-1, sent, "")], ["two", "one", undefined]);
  assert.deepEqual([h.step(1, sent, ""), h.step(1, sent, ""), h.step(1, sent, "")], ["two", "draft", undefined]);
  assert.equal(h.step(-1, [], "x"), undefined);
});

test("durations for a person", () => {
  assert.deepEqual([0, 12.4, 999, 1234, 9999, 61_000, 3_600_000].map(words), [
    "0 ms",
    "12 ms",
    "999 ms",
    "1.2 s",
    "10.0 s",
    "1 min 1 s",
    "60 min 0 s",
  ]);
});
