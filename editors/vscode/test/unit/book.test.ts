import assert from "node:assert/strict";
import { test } from "node:test";
import { approveResult, planResult, readAnswer } from "../../src/questions/answer.js";
import { Book } from "../../src/questions/book.js";
import { ofApproval, ofApprove, ofElicit, ofPlan, type Answer, type Question } from "../../src/questions/question.js";
import type { ApproveParams, ElicitParams } from "../../src/protocol.js";

const approve: ApproveParams = {
  id: "1",
  kind: "tool",
  runId: "r",
  session: "s",
  server: "files",
  tool: "move",
  description: "Moves a file.",
  arguments: { from: "a", to: "b" },
  reason: "no rule allows it",
  definitionChanged: false,
  covers: "move of files",
  decisions: ["deny", "once", "session", "always"],
  deadline: "2026-01-02T03:04:05Z",
};
const elicit: ElicitParams = {
  id: "e",
  kind: "elicit",
  runId: "r",
  session: "s",
  server: "files",
  message: "Who?",
  mode: "form",
  fields: [
    { name: "name", kind: "string", required: true, secret: false },
    { name: "pin", kind: "string", required: true, secret: true },
  ],
  deadline: "2026-01-02T03:04:05Z",
};
const once: Answer = { decision: "once" };

/** A book whose changes are counted. */
function book(): { book: Book; changes: () => number } {
  const b = new Book();
  let n = 0;
  b.onDidChange(() => n++);
  return { book: b, changes: () => n };
}

test("a question is settled once, by the first answer", async () => {
  const { book: b, changes } = book();
  const asked = b.ask(ofApprove(approve));
  assert.deepEqual(
    b.open.map((q) => q.id),
    ["1"],
  );
  assert.equal(b.answer("1", once), "answered");
  assert.equal(b.answer("1", { decision: "deny" }), "closed");
  asked.withdraw();
  assert.deepEqual(await asked.answer, once);
  assert.deepEqual(b.open, []);
  assert.equal(changes(), 2);
});

test("a question that is withdrawn takes no answer", async () => {
  const { book: b, changes } = book();
  const asked = b.ask(ofApprove(approve));
  asked.withdraw();
  asked.withdraw();
  assert.equal(b.answer("1", once), "closed");
  assert.equal(await asked.answer, undefined);
  assert.equal(changes(), 2);
});

test("no yes beyond what is offered", async () => {
  const { book: b } = book();
  const asked = b.ask(ofApprove({ ...approve, decisions: ["deny", "once"] }));
  for (const decision of ["session", "always", "cancel", "revise"] as const) {
    assert.equal(b.answer("1", { decision }), "refused", decision);
  }
  assert.equal(b.answer("1", { decision: "deny", reason: "no" }), "answered");
  assert.deepEqual(await asked.answer, { decision: "deny", reason: "no" });
});

test("asked anew under its id, a question takes the place of the one before", async () => {
  const { book: b } = book();
  const [first, other] = [b.ask(ofApprove(approve)), b.ask(ofApprove({ ...approve, id: "2" }))];
  const again = b.ask(ofApprove(approve));
  assert.equal(await first.answer, undefined);
  assert.deepEqual(
    b.open.map((q) => q.id),
    ["1", "2"],
  );
  assert.ok(again.question.seq > other.question.seq);
  first.withdraw(); // the server takes the first request away, not the second
  assert.equal(b.open.length, 2);
  b.answer("1", once);
  assert.deepEqual(await again.answer, once);
});

test("of an answer that was wrong all but the secrets is shown again", () => {
  const { book: b } = book();
  b.ask(ofElicit(elicit));
  b.answer("e", { decision: "once", content: { name: "A", pin: "1234" } });
  b.ask(ofElicit({ ...elicit, problem: '"name" is too short' }));
  assert.deepEqual(b.find("e")?.previous, { name: "A" });
});

test("the end of a run takes its questions away, and no other", async () => {
  const { book: b } = book();
  const gone = b.ask(ofApprove(approve));
  b.ask(ofApprove({ ...approve, id: "2", runId: "other" }));
  b.ask(ofApprove({ ...approve, id: "3", runId: "", kind: "trust" }));
  b.closeRun("r");
  b.closeRun("");
  assert.equal(await gone.answer, undefined);
  assert.deepEqual(
    b.open.map((q) => q.id),
    ["2", "3"],
  );
  b.closeAll();
  assert.deepEqual(b.open, []);
});

test("what the server holds is taken up, and let go when it holds it no more", () => {
  const { book: b, changes } = book();
  const told: [Question, Answer][] = [];
  const tell = (q: Question, a: Answer) => told.push([q, a]);
  const held = ofApproval({ id: "h", kind: "trust", reason: "r", deadline: "", decisions: ["deny", "once"] });
  const asked = b.ask(ofApprove(approve));
  const own = ofApproval({ ...approve, id: "1" });
  b.restore([own, held], tell);
  assert.deepEqual(
    b.open.map((q) => q.id),
    ["1", "h"],
  );
  assert.equal(b.answer("h", once), "answered");
  assert.deepEqual(
    told.map(([q, a]) => [q.id, a]),
    [["h", once]],
  );
  const before = changes();
  b.restore([own, held], tell);
  assert.equal(changes(), before, "an answer is on its way");
  b.untold("h");
  b.restore([own, held], tell);
  assert.ok(b.find("h"));
  b.restore([], tell);
  assert.equal(b.find("h"), undefined);
  assert.ok(b.find("1"), "a request waits for that one");
  asked.withdraw();
});

test("listeners are told until they are disposed", () => {
  const b = new Book();
  let n = 0;
  const listening = b.onDidChange(() => n++);
  b.ask(ofApprove(approve));
  listening.dispose();
  b.closeAll();
  assert.equal(n, 1);
});

test("answers on the wire", () => {
  const q = { ...ofApprove(approve), seq: 1 };
  const form = { ...ofElicit(elicit), seq: 1 };
  for (const [question, answer, want] of [
    [q, once, { decision: "once" }],
    [q, { decision: "always", arguments: { from: "c" } }, { decision: "always", arguments: { from: "c" } }],
    [q, { decision: "deny", reason: " too far " }, { decision: "deny", reason: "too far" }],
    [q, { decision: "deny", reason: " " }, { decision: "deny" }],
    [form, { decision: "cancel" }, { decision: "deny", reason: "dismissed" }],
    [form, once, { decision: "once", content: {} }],
    [
      q,
      { decision: "revise", reason: "shorter" },
      { decision: "deny", content: { decision: "revise", note: "shorter" } },
    ],
  ] as [Question, Answer, unknown][]) {
    assert.deepEqual(approveResult(question, answer), want);
  }
  const steps = [{ id: "a", title: "A", task: "do", dependsOn: [] }];
  assert.deepEqual(planResult({ decision: "once" }), { decision: "run" });
  assert.deepEqual(planResult({ decision: "once", content: { steps } }), { decision: "run", steps });
  assert.deepEqual(planResult({ decision: "revise", reason: "x" }), { decision: "revise", note: "x" });
  assert.deepEqual(planResult({ decision: "deny" }), { decision: "stop" });
  assert.deepEqual(planResult({ decision: "deny", reason: "y" }), { decision: "stop", note: "y" });
});

test("what is no answer is not read as one", () => {
  for (const odd of [
    null,
    5,
    "once",
    [],
    {},
    { decision: "yes" },
    { decision: "once", reason: 1 },
    { decision: "once", arguments: [] },
    { decision: "once", content: "x" },
  ]) {
    assert.equal(readAnswer(odd), undefined, JSON.stringify(odd));
  }
  assert.deepEqual(readAnswer({ decision: "once", arguments: { a: 1 }, more: 1 }), {
    decision: "once",
    arguments: { a: 1 },
  });
});

test("what is held says the same as the request did", () => {
  const { deadline, ...rest } = approve;
  assert.deepEqual(ofApproval({ ...rest, deadline }), ofApprove(approve));
  assert.deepEqual(
    ofApproval({ id: "e", kind: "elicit", reason: "", deadline, decisions: ["deny", "once"], elicit }),
    ofElicit(elicit),
  );
  const plan = {
    id: "p",
    runId: "r",
    session: "s",
    plan: 1,
    steps: [{ id: "a", title: "A", task: "do", dependsOn: [] }],
    deadline,
  };
  assert.deepEqual(
    ofApproval({
      id: "p",
      kind: "plan",
      runId: "r",
      session: "s",
      tool: "submit_plan",
      reason: "",
      deadline,
      decisions: ["deny", "once"],
      plan,
    }),
    { ...ofPlan(plan), arguments: undefined },
  );
  assert.equal(ofApprove(approve).deadline, Date.UTC(2026, 0, 2, 3, 4, 5));
  assert.equal("deadline" in ofApprove({ ...approve, deadline: "?" }), false);
});
