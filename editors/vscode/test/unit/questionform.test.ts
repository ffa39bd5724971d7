import assert from "node:assert/strict";
import { test } from "node:test";
import type { Field } from "../../src/protocol.js";
import { initial, lacks, problemsOf, valueOf, type Typed } from "../../src/questions/form.js";
import { editedSteps, freshId, moved, problemOf, without } from "../../src/questions/plan.js";
import { ofElicit, type Step } from "../../src/questions/question.js";

const field = (f: Partial<Field>): Field => ({ name: "f", kind: "string", required: false, secret: false, ...f });
const options = [
  { value: 1, title: "One" },
  { value: "two", title: "Two" },
  { value: true, title: "Yes" },
];

for (const [name, f, typed, want] of [
  ["a text", { kind: "string" }, "x", "x"],
  ["an empty text", { kind: "string" }, "", null],
  ["blanks are a text", { kind: "string" }, " ", " "],
  ["a number", { kind: "number" }, " 1.5 ", 1.5],
  ["no number", { kind: "integer" }, "x", "x"],
  ["no number at all", { kind: "integer" }, "", null],
  ["infinity", { kind: "number" }, "1e999", "1e999"],
  ["yes", { kind: "boolean" }, "true", true],
  ["no", { kind: "boolean" }, "false", false],
  ["neither", { kind: "boolean" }, "", null],
  ["an option", { kind: "enum", options }, [1], "two"],
  ["no option", { kind: "enum", options }, [], null],
  ["options", { kind: "enums", options }, [0, 2], [1, true]],
  ["none of them", { kind: "enums", options }, [], null],
  ["none of what is needed", { kind: "enums", options, required: true }, [], []],
  ["a list", { kind: "list" }, "a\n\n b ", ["a", "b"]],
  ["an empty list", { kind: "list" }, "", null],
] as [string, Partial<Field>, Typed, unknown][]) {
  test(`value: ${name}`, () => assert.deepEqual(valueOf(field(f), typed), want));
}

for (const [name, f, previous, want] of [
  ["nothing", { kind: "string" }, undefined, ""],
  ["a default", { kind: "string", default: "d" }, undefined, "d"],
  ["what was said", { kind: "string", default: "d" }, { f: "p" }, "p"],
  ["what was left out", { kind: "string", default: "d" }, { f: null }, ""],
  ["a number", { kind: "integer", default: 7 }, undefined, "7"],
  ["yes", { kind: "boolean", default: true }, undefined, "true"],
  ["no answer yet", { kind: "boolean" }, undefined, ""],
  ["an option", { kind: "enum", options, default: "two" }, undefined, [1]],
  ["no such option", { kind: "enum", options, default: "2" }, undefined, []],
  ["options", { kind: "enums", options, default: [true, 1] }, undefined, [0, 2]],
  ["a list", { kind: "list", default: ["a", "b"] }, undefined, "a\nb"],
] as [string, Partial<Field>, Record<string, unknown> | undefined, Typed][]) {
  test(`at first: ${name}`, () => assert.deepEqual(initial(field(f), previous), want));
}

test("what is needed and lacking is said", () => {
  assert.equal(lacks(field({ required: true }), null), "This is needed.");
  assert.equal(lacks(field({ required: true }), "x"), undefined);
  assert.equal(lacks(field({}), null), undefined);
});

test("problems stand at their fields", () => {
  const params = {
    id: "e",
    kind: "elicit" as const,
    runId: "",
    session: "",
    server: "s",
    message: "?",
    mode: "form" as const,
    deadline: "",
    fields: [field({ name: "name" }), field({ name: "a; b" }), field({ name: "age" })],
  };
  const problem =
    'agentls.approve: content must be {"name":"…","age":1}: "name" must have 2 characters at least; "x" is no field of this form; "age" is missing';
  assert.deepEqual(problemsOf({ ...ofElicit({ ...params, problem }), seq: 1 }), {
    fields: new Map([
      ["name", "Must have 2 characters at least."],
      ["age", "Is missing."],
    ]),
    rest: '"x" is no field of this form.',
  });
  assert.deepEqual(problemsOf({ ...ofElicit(params), seq: 1 }), { fields: new Map(), rest: "" });
});

const step = (id: string, ...dependsOn: string[]): Step => ({
  id,
  title: id.toUpperCase(),
  task: `do ${id}`,
  dependsOn,
});

test("a plan that cannot run says why", () => {
  for (const [steps, want] of [
    [[step("a"), step("b", "a")], undefined],
    [[step("b", "a"), step("a")], undefined],
    [[], "A plan needs a step. Add one, or stop."],
    [[step("a"), step("a")], "Two steps have the id a."],
    [[step("a", "x")], "Step 1 waits for x, which is no step."],
    [[step("a", "a")], "Steps wait for each other: A → A."],
    [[step("c"), step("a", "b"), step("b", "c", "a")], "Steps wait for each other: A → B → A."],
    [[{ ...step("a"), title: " " }], "Step 1 has no title."],
    [[{ ...step("a"), task: "" }], "Step 1 says nothing of what is to be done."],
  ] as [Step[], string | undefined][]) {
    assert.equal(problemOf(steps), want);
  }
});

test("steps are edited", () => {
  const steps = [step("a"), step("b", "a"), step("c", "a", "b")];
  assert.equal(editedSteps(steps, [step("a"), step("b", "a"), step("c", "a", "b")]), undefined);
  assert.deepEqual(editedSteps(steps, [step("a")]), [step("a")]);
  assert.deepEqual(without(steps, "a"), [step("b"), step("c", "b")]);
  assert.deepEqual(
    moved(steps, 2, -1).map((s) => s.id),
    ["a", "c", "b"],
  );
  assert.deepEqual(
    moved(steps, 0, -1).map((s) => s.id),
    ["a", "b", "c"],
  );
  assert.deepEqual(
    moved(steps, 2, 1).map((s) => s.id),
    ["a", "b", "c"],
  );
  assert.equal(freshId(steps), "step4");
  assert.equal(freshId([...steps, step("step5")]), "step6");
});
