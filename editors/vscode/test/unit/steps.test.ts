import assert from "node:assert/strict";
import { test } from "node:test";
import { back, done, walk, type Step } from "../../src/steps.js";

/** Steps that answer what a list says, and note that they were asked. */
function scripted(answers: Record<string, (Step | string | typeof back | typeof done | undefined)[]>) {
  const asked: string[] = [];
  const steps: Record<string, Step> = {};
  for (const [name, list] of Object.entries(answers)) {
    steps[name] = (canGoBack) => {
      asked.push(name + (canGoBack ? "<" : ""));
      const answer = list.shift();
      return Promise.resolve(typeof answer === "string" ? steps[answer] : answer);
    };
  }
  return { asked, steps };
}

test("each step can be gone back from, to the one before it", async () => {
  const { asked, steps } = scripted({ a: ["b", "b"], b: ["c", back, "c"], c: [back, done] });
  assert.equal(await walk(steps["a"]!), true);
  assert.deepEqual(asked, ["a", "b<", "c<", "b<", "a", "b<", "c<"]);
});

test("who leaves has not come to the end", async () => {
  const { asked, steps } = scripted({ a: ["b"], b: [undefined] });
  assert.equal(await walk(steps["a"]!), false);
  assert.deepEqual(asked, ["a", "b<"]);
});

test("a step that asks again is one step on the way back", async () => {
  const { asked, steps } = scripted({ a: ["b", undefined], b: ["b", "b", back] });
  assert.equal(await walk(steps["a"]!), false);
  assert.deepEqual(asked, ["a", "b<", "b<", "b<", "a"]);
});
