import assert from "node:assert/strict";
import test from "node:test";
import { Conversation } from "../../src/panel/conversation.js";
import { languageOf } from "../../src/panel/fence.js";
import { placeOf, schemeOf } from "../../src/panel/linkplace.js";
import type { FromPanel, Turn } from "../../src/panel/messages.js";
import { offsetAt, positionAt, problemsOf, suggestionsOf } from "../../src/panel/suggestions.js";
import { fromPanel } from "../../src/panel/validate.js";
import type { RunEvent, SessionText } from "../../src/protocol.js";
import { Runs } from "../../src/runs.js";
import { empty, take } from "../../webview/state.js";

/** Runs, a conversation, and a view that is told by patches alone. */
function told() {
  const runs = new Runs({ finished: 200, text: 8 << 20 }, () => 1000);
  const conversation = new Conversation("s", runs, (uri) => uri.slice(-4));
  const view = empty();
  const say = (m: ReturnType<Conversation["patch"]>) =>
    m && (m.type === "conversation" || m.type === "patch") && take(view, m);
  say(conversation.whole());
  let seq = 0;
  const event = (e: Record<string, unknown>, tell = true) => {
    seq++;
    runs.apply({ runId: "r", session: "s", seq, ...e } as unknown as RunEvent);
    if (tell) say(conversation.patch(["r"]));
  };
  const plain = (turns: unknown): unknown => JSON.parse(JSON.stringify(turns));
  const check = () => {
    const whole = conversation.whole();
    assert.ok(whole.type === "conversation");
    assert.deepEqual(plain(view.turns), plain(whole.turns));
  };
  return { runs, conversation, view, event, say, check };
}

test("patches lead to what a view that is new gets as a whole", () => {
  const { runs, conversation, view, event, say, check } = told();
  runs.expect({ id: "r", session: "s", prompt: "ask", mode: "plan" });
  say(conversation.patch(["r"]));
  const call = (state: string, more = {}) => ({
    kind: "toolCall",
    toolCall: { id: "c", tool: "t", server: "x", state, ...more },
  });
  for (const e of [
    { kind: "queued" },
    { kind: "started" },
    { kind: "mention", mention: { server: "fs", uri: "file:///a", status: "expanded" } },
    { kind: "reasoning", delta: "hm" },
    { kind: "text", delta: "a" },
    { kind: "text", delta: "b" },
    { kind: "plan", plan: { plan: 1, steps: [{ id: "1", title: "T", dependsOn: [], status: "pending" }] } },
    call("pending", { arguments: { a: 1 } }),
    { kind: "approval", approval: { id: "q", kind: "tool", server: "x", tool: "t", state: "open" } },
    { kind: "approval", approval: { id: "q", kind: "tool", server: "x", tool: "t", state: "resolved" } },
    call("running"),
    { kind: "text", delta: "c" },
    call("completed"),
    { kind: "plan", plan: { plan: 1, steps: [{ id: "1", title: "T", dependsOn: [], status: "completed" }] } },
    { kind: "usage", usage: { promptTokens: 1, completionTokens: 2, totalTokens: 3 } },
    { kind: "finished", status: "completed", changed: [{ uri: "file:///a.go", saved: true }] },
  ]) {
    event(e);
    if (e.kind === "approval") {
      const row = view.turns[0]?.rows.find((r) => r.kind === "tool");
      const open = (e as { approval: { state: string } }).approval.state === "open";
      assert.equal(row?.kind === "tool" && row.call.state, open ? "waiting" : "pending");
    }
  }
  check();
  conversation.extra("r").results.set("c", "42");
  say(conversation.patch(["r"]));
  check();
  assert.equal(JSON.stringify(view.turns).includes('"result":"42"'), true);
});

test("a patch holds what is new, however often it is asked for", () => {
  const { conversation, event } = told();
  event({ kind: "started" });
  event({ kind: "text", delta: "x".repeat(1000) });
  for (let i = 0; i < 1000; i++) event({ kind: "text", delta: "y" }, false);
  const patch = conversation.patch(["r"]);
  assert.deepEqual(patch?.type === "patch" && [patch.heads, patch.rows, patch.append], [
    [],
    [],
    [{ turn: "r", row: "0", text: "y".repeat(1000) }],
  ]);
  assert.equal(conversation.patch(["r"]), undefined);
  assert.equal(conversation.patch(["another"]), undefined);
});

test("what is added to a run stands where it was added, also for a view that is new", () => {
  const { conversation, event, say, view } = told();
  event({ kind: "started" });
  event({ kind: "text", delta: "one" });
  conversation.extra("r").steers.push({ after: 1, text: "more" });
  say(conversation.patch(["r"]));
  event({ kind: "toolCall", toolCall: { id: "c", tool: "t", state: "running" } });
  const kinds = (turns: Turn[]): string[] => turns.flatMap((t) => t.rows.map((r) => r.kind));
  const whole = conversation.whole();
  assert.deepEqual(kinds(view.turns), ["text", "steer", "tool"]);
  assert.deepEqual(whole.type === "conversation" && kinds(whole.turns), ["text", "steer", "tool"]);
});

test("a text that lost its beginning is told as a whole", () => {
  const runs = new Runs({ finished: 1, text: 100 });
  const conversation = new Conversation("s", runs, String);
  runs.apply({ runId: "r", session: "s", seq: 1, kind: "text", delta: "x".repeat(90) });
  conversation.whole();
  runs.apply({ runId: "r", session: "s", seq: 2, kind: "text", delta: "y".repeat(90) });
  const said = conversation.patch(["r"]);
  assert.equal(said?.type, "conversation");
  assert.match(JSON.stringify(said), /characters are not kept/);
});

test("a session is shown as it was; what this window's runs tell is not shown twice", () => {
  const { conversation, event } = told();
  event({ kind: "started" });
  const message = (role: string, text: string, more = {}) => ({ role, text, time: "2026-01-01T00:00:00Z", ...more });
  conversation.load({
    session: "s", folder: "", title: "Title", createdAt: "", updatedAt: "", turns: 2, note: "the 3 oldest messages are not shown",
    messages: [
      message("assistant", "of a turn that is not shown"),
      message("user", "first", { runId: "old" }),
      message("assistant", "I look.", { toolCalls: [{ id: "c", name: "mcp__fs__read", arguments: '{"a":1}' }] }),
      message("tool", "the file", { toolCallId: "c" }),
      message("user", "and this"),
      message("user", "second", { runId: "r" }),
      message("assistant", "twice"),
    ],
  } as unknown as SessionText); // prettier-ignore
  const whole = conversation.whole();
  assert.ok(whole.type === "conversation");
  assert.deepEqual([whole.title, whole.omitted], ["Title", "the 3 oldest messages are not shown"]);
  assert.deepEqual(
    whole.turns.map((t) => [t.id, t.own, t.rows.map((r) => r.kind)]),
    [
      ["past-0", false, ["text"]],
      ["old", false, ["text", "tool", "steer"]],
      ["r", true, []],
    ],
  );
  const call = whole.turns[1]?.rows[1];
  assert.deepEqual(call?.kind === "tool" && [call.call.server, call.call.tool, call.call.state, call.call.result], [
    "fs",
    "read",
    "called",
    "the file",
  ]);
});

test("what the view says is believed only as it should be", () => {
  const good: FromPanel[] = [
    { type: "send", text: "x", how: "ask" },
    { type: "ready", draft: "", version: 0, mode: "team" },
    {
      type: "ready",
      draft: "",
      version: 0,
      mode: "react",
      attachment: {
        label: "a",
        uri: "file:///a",
        range: { start: { line: 0, character: 0 }, end: { line: 1, character: 2 } },
      },
    },
    { type: "action", action: "setup" },
    { type: "answer", id: "q", answer: { decision: "deny" } },
    { type: "code", action: "new", text: "x", language: "go" },
  ];
  for (const m of good) assert.deepEqual(fromPanel(m), m);
  for (const m of [
    null, 1, "ready", [], {}, { type: "toString" }, { type: "__proto__" }, { type: "send" }, { type: "send", text: 1, how: "ask" },
    { type: "send", text: "x", how: "shell" }, { type: "send", text: "x".repeat(2_000_001), how: "ask" }, { type: "action", action: "workbench.action.quit" },
    { type: "answer", id: "q", answer: { decision: "yes" } }, { type: "answer", id: "q", answer: { decision: "once", arguments: [] } },
    { type: "cancel", turn: "x".repeat(201) }, { type: "draft", text: "", version: -1 }, { type: "draft", text: "", version: 1.5 },
    { type: "ready", draft: "", version: 0, mode: "yolo" }, { type: "ready", draft: "", version: 0, mode: "react", attachment: { label: "a" } },
    { type: "complete", id: 1, text: "", version: 1, offset: Infinity }, { type: "open", href: "x".repeat(5000) }, { type: "code", action: "run", text: "", language: "" },
  ]) assert.equal(fromPanel(m), undefined, JSON.stringify(m).slice(0, 60)); // prettier-ignore
});

test("positions and offsets are each other's reverse", () => {
  const text = "a\u{1F600}b\n\nlast";
  for (let offset = 0; offset <= text.length; offset++) assert.equal(offsetAt(text, positionAt(text, offset)), offset);
  assert.deepEqual(positionAt(text, 5), { line: 1, character: 0 });
  assert.equal(offsetAt(text, { line: 9, character: 0 }), text.length);
  assert.equal(offsetAt(text, { line: 0, character: 99 }), 4);
});

test("items and diagnostics in the input's own terms", () => {
  const range = { start: { line: 1, character: 2 }, end: { line: 1, character: 5 } };
  assert.deepEqual(
    suggestionsOf(
      [
        {
          label: "l",
          kind: 9,
          labelDetails: { description: "w" },
          detail: "d",
          filterText: "@w",
          textEdit: { range, newText: "@w:" },
        },
        { label: "none" },
      ],
      "x\n  @w",
    ),
    [{ label: "l", detail: "w · d", filter: "@w", start: 4, end: 6, text: "@w:", icon: "server", more: true }],
  );
  assert.deepEqual(problemsOf([{ range, severity: 2, message: "m" }], "x\n  @w:a"), [
    { start: 4, end: 7, severity: "warning", message: "m" },
  ]);
});

test("where links lead", () => {
  assert.deepEqual(placeOf("src/a.go#L10-L12"), { path: "src/a.go", line: 10 });
  assert.deepEqual(placeOf("src/a.go:7:3"), { path: "src/a.go", line: 7 });
  assert.deepEqual(placeOf("file:///x/a%20b.md"), { path: "/x/a b.md" });
  assert.deepEqual(placeOf("100%.md#top"), { path: "100%.md" });
  assert.deepEqual([schemeOf("COMMAND:x"), schemeOf("a/b:c")], ["command", undefined]);
});

test("what fences call languages", () => {
  const known = ["typescript", "shellscript", "go"];
  assert.deepEqual(
    ["ts", "SH", "go", "klingon", "constructor", ""].map((f) => languageOf(f, known)),
    ["typescript", "shellscript", "go", undefined, undefined, undefined],
  );
});
