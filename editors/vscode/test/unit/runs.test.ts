import assert from "node:assert/strict";
import { test } from "node:test";
import type { RunEvent } from "../../src/protocol.js";
import { isLive, Runs, type Run } from "../../src/runs.js";

/** Events of one run, numbered as the server does. */
function eventsOf(runId: string, session = "s"): (rest: object) => RunEvent {
  let seq = 0;
  return (rest) => ({ runId, session, seq: ++seq, ...rest }) as unknown as RunEvent;
}

function clock(): { now: () => number; tick(by: number): void } {
  let time = 1000;
  return { now: () => time, tick: (by) => (time += by) };
}

const big = { finished: 200, text: 8 << 20 };

test("a run goes its way: deltas become one text, calls keep their place", () => {
  const time = clock();
  const runs = new Runs(big, time.now);
  const e = eventsOf("r");
  const seen: [string, boolean][] = [];
  runs.onDidChange((run, status) => seen.push([run.status, status]));
  runs.apply(e({ kind: "queued" }));
  runs.apply(e({ kind: "started" }));
  runs.apply(e({ kind: "mention", mention: { server: "s", uri: "x:y", status: "expanded" } }));
  runs.apply(e({ kind: "reasoning", delta: "hm" }));
  runs.apply(e({ kind: "text", delta: "Hello " }));
  runs.apply(e({ kind: "text", delta: "you." }));
  const call = { id: "c1", tool: "read", server: "fs" };
  runs.apply(e({ kind: "toolCall", toolCall: { ...call, state: "pending", arguments: { path: "a" } } }));
  runs.apply(e({ kind: "approval", approval: { id: "q", kind: "tool", tool: "read", state: "open" } }));
  assert.equal(runs.get("r")?.status, "waiting");
  runs.apply(
    e({ kind: "approval", approval: { id: "q", kind: "tool", tool: "read", state: "resolved", decision: "once" } }),
  );
  assert.equal(runs.get("r")?.status, "running");
  runs.apply(e({ kind: "toolCall", toolCall: { ...call, state: "running" } }));
  time.tick(250);
  runs.apply(e({ kind: "toolCall", toolCall: { ...call, state: "completed" } }));
  runs.apply(e({ kind: "text", delta: "Done." }));
  runs.apply(e({ kind: "usage", usage: { promptTokens: 1, completionTokens: 2, totalTokens: 3 } }));
  assert.deepEqual(
    runs.active().map((r) => r.id),
    ["r"],
  );
  runs.apply(e({ kind: "finished", status: "completed", stopReason: "end_turn" }));

  const run = runs.get("r")!;
  assert.deepEqual(
    run.items.map((i) => (i.kind === "text" || i.kind === "reasoning" ? [i.kind, i.text] : [i.kind])),
    [["mention"], ["reasoning", "hm"], ["text", "Hello you."], ["tool"], ["approval"], ["text", "Done."]],
  );
  const tool = run.items.find((i) => i.kind === "tool")!;
  assert.deepEqual(
    tool.call,
    { ...call, state: "completed", arguments: { path: "a" } },
    "an event that says less takes nothing away",
  );
  assert.equal(tool.endedAt! - tool.startedAt, 250);
  assert.equal(run.stopReason, "end_turn");
  assert.equal(run.usage?.totalTokens, 3);
  assert.equal(run.incomplete, false);
  assert.equal(isLive(run), false);
  assert.deepEqual(runs.active(), []);
  assert.deepEqual(
    seen.filter(([, status]) => status).map(([s]) => s),
    ["queued", "running", "waiting", "running", "completed"],
  );
});

test("nothing of a run comes after its end, and no event counts twice", () => {
  const runs = new Runs();
  const e = eventsOf("r");
  const first = e({ kind: "text", delta: "a" });
  runs.apply(first);
  runs.apply(first);
  runs.apply(e({ kind: "finished", status: "completed" }));
  runs.apply(e({ kind: "text", delta: "late" }));
  assert.deepEqual(runs.get("r")?.items, [{ kind: "text", text: "a" }]);
});

test("a gap in the numbers is remembered, and what is there still counts", () => {
  const runs = new Runs();
  runs.apply({ runId: "r", session: "s", seq: 1, kind: "text", delta: "a" });
  assert.equal(runs.get("r")?.incomplete, false);
  runs.apply({ runId: "r", session: "s", seq: 3, kind: "text", delta: "c" });
  runs.apply({ runId: "r", session: "s", seq: 2, kind: "text", delta: "b" });
  assert.equal(runs.get("r")?.incomplete, true);
  assert.deepEqual(runs.get("r")?.items, [{ kind: "text", text: "ac" }]);
  runs.apply({ runId: "late", session: "s", seq: 7, kind: "started" });
  assert.equal(runs.get("late")?.incomplete, true, "its beginning was missed");
});

test("a run that is cancelled while it is queued", () => {
  const runs = new Runs();
  const e = eventsOf("r");
  runs.apply(e({ kind: "queued" }));
  runs.apply(e({ kind: "finished", status: "cancelled" }));
  assert.equal(runs.get("r")?.status, "cancelled");
  assert.deepEqual(runs.get("r")?.items, []);
});

test("a plan is one item that changes, another plan is another", () => {
  const runs = new Runs();
  const e = eventsOf("r");
  const plan = (n: number, status: string) => ({
    kind: "plan",
    plan: { plan: n, steps: [{ id: "a", title: "A", dependsOn: [], status }] },
  });
  runs.apply(e(plan(1, "pending")));
  runs.apply(e({ kind: "text", delta: "words" }));
  runs.apply(e(plan(1, "running")));
  runs.apply(e(plan(2, "completed")));
  const run = runs.get("r")!;
  assert.deepEqual(
    run.items.map((i) => (i.kind === "plan" ? `${i.plan.plan} ${i.plan.steps[0]?.status ?? ""}` : i.kind)),
    ["1 running", "text", "2 completed"],
  );
  assert.equal(run.plan?.plan, 2);
});

test("calls of parts with the same id are apart, and an id that a provider gives again is another call", () => {
  const runs = new Runs();
  const e = eventsOf("r");
  const call = (state: string, part?: string) => ({
    kind: "toolCall",
    toolCall: { id: "call_0", tool: "t", state, ...(part === undefined ? {} : { part }) },
  });
  runs.apply(e(call("running", "step 1")));
  runs.apply(e(call("running", "step 2")));
  runs.apply(e(call("completed", "step 1")));
  runs.apply(e(call("pending", "step 1")));
  runs.apply(e(call("rejected", "step 1")));
  const states = runs.get("r")!.items.map((i) => (i.kind === "tool" ? [i.call.part, i.call.state] : []));
  assert.deepEqual(states, [
    ["step 1", "completed"],
    ["step 2", "running"],
    ["step 1", "rejected"],
  ]);
});

test("when the server is gone what lived has failed, and what was open of it is so no more", () => {
  const runs = new Runs();
  const e = eventsOf("r");
  runs.apply(e({ kind: "started" }));
  runs.apply(e({ kind: "toolCall", toolCall: { id: "1", tool: "t", state: "running" } }));
  runs.apply(e({ kind: "toolCall", toolCall: { id: "2", tool: "t", state: "pending" } }));
  runs.apply(e({ kind: "approval", approval: { id: "q", kind: "tool", tool: "t", state: "open" } }));
  runs.expect({ id: "asked", prompt: "p" });
  runs.lost("The server ended.");
  assert.deepEqual(runs.active(), []);
  assert.equal(runs.get("asked")?.status, "failed");
  const run = runs.get("r")!;
  assert.equal(run.status, "failed");
  assert.equal(run.error?.message, "The server ended.");
  assert.deepEqual(
    run.items.map((i) => (i.kind === "tool" ? i.call.state : i.kind === "approval" ? i.approval.state : i.kind)),
    ["unknown", "cancelled", "resolved"],
  );
});

test("a run that was asked for is there before its first event", () => {
  const runs = new Runs();
  runs.expect({ id: "r", prompt: "what?", mode: "plan" });
  assert.equal(runs.get("r")?.session, "");
  runs.apply(eventsOf("r", "named")({ kind: "queued" }));
  assert.equal(runs.get("r")?.incomplete, false);
  assert.deepEqual(
    runs.of("named").map((r) => [r.prompt, r.mode]),
    [["what?", "plan"]],
  );
});

test("a request that was refused before its run began leaves no run that lives", () => {
  const runs = new Runs();
  runs.expect({ id: "r" });
  runs.ended("r", "failed", { message: "no", kind: "internal", retryable: false });
  assert.equal(runs.get("r")?.status, "failed");
  runs.ended("r", "cancelled");
  assert.equal(runs.get("r")?.status, "failed", "once");
  runs.ended("unknown", "cancelled");
});

test("the answer of the command brings what the events do not tell", () => {
  const runs = new Runs();
  const e = eventsOf("r");
  runs.apply(e({ kind: "text", delta: "a" }));
  runs.answered({ runId: "r", session: "s", status: "running" });
  assert.equal(isLive(runs.get("r")!), true, "detached: it goes on");
  runs.apply(e({ kind: "finished", status: "stopped", stopReason: "max_steps" }));
  runs.answered({
    runId: "r",
    session: "s",
    status: "stopped",
    text: "a",
    note: "more steps",
    changed: [{ uri: "file:///a", saved: true }],
  });
  const run = runs.get("r")!;
  assert.equal(run.result?.note, "more steps");
  assert.equal(run.result.text, "", "the text is kept once");
});

test("what the events do not say of a run is learnt from the list of runs", () => {
  const runs = new Runs();
  runs.apply(eventsOf("r")({ kind: "started" }));
  runs.expect({ id: "own", prompt: "mine" });
  const info = { session: "s", mode: "team", status: "running", startedAt: "", prompt: "from a buffer" } as const;
  runs.describe([
    { ...info, runId: "r" },
    { ...info, runId: "own" },
    { ...info, runId: "unknown" },
  ]);
  assert.deepEqual(
    runs.all().map((r) => [r.id, r.prompt]),
    [
      ["r", "from a buffer"],
      ["own", "mine"],
    ],
  );
});

test("of finished runs the oldest are forgotten", () => {
  const runs = new Runs({ finished: 3, text: 1000 });
  runs.apply(eventsOf("live")({ kind: "started" }));
  for (const id of ["a", "b", "c", "d", "e"]) runs.apply(eventsOf(id)({ kind: "finished", status: "completed" }));
  assert.deepEqual(
    runs.all().map((r) => r.id),
    ["live", "c", "d", "e"],
  );
});

test("of text the oldest finished runs go first, then the beginning of the one that grows", () => {
  const runs = new Runs({ finished: 200, text: 1000 });
  const old = eventsOf("old");
  runs.apply(old({ kind: "text", delta: "x".repeat(600) }));
  runs.apply(old({ kind: "finished", status: "completed" }));
  const e = eventsOf("r");
  runs.apply(e({ kind: "text", delta: "y".repeat(300) }));
  assert.notEqual(runs.get("old"), undefined);
  runs.apply(e({ kind: "text", delta: "y".repeat(300) }));
  assert.equal(runs.get("old"), undefined);
  runs.apply(e({ kind: "text", delta: "z".repeat(500) }));
  const run = runs.get("r")!;
  assert.equal(run.omitted, 350);
  assert.deepEqual(run.items, [{ kind: "text", text: "y".repeat(250) + "z".repeat(500) }]);
});

test("arguments of calls count as text", () => {
  const runs = new Runs({ finished: 200, text: 1000 });
  for (const id of ["a", "b"]) {
    const e = eventsOf(id);
    const call = { id: "1", tool: "write", state: "pending", arguments: { text: "x".repeat(700) } };
    runs.apply(e({ kind: "toolCall", toolCall: call }));
    runs.apply(e({ kind: "finished", status: "completed" }));
  }
  assert.deepEqual(
    runs.all().map((r) => r.id),
    ["b"],
  );
});

test("many deltas cost little", () => {
  const runs = new Runs();
  for (let i = 0; i < 300; i++) runs.apply(eventsOf(`done ${i}`)({ kind: "finished", status: "completed" }));
  const e = eventsOf("r");
  let told: Run | undefined;
  runs.onDidChange((run) => (told = run));
  for (let i = 0; i < 100_000; i++) runs.apply(e({ kind: "text", delta: "word " }));
  assert.equal(told?.items.length, 1);
  assert.equal(told.revision, 100_000);
});
