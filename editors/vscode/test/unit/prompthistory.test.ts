import assert from "node:assert/strict";
import test from "node:test";
import { maxLength, maxPrompts, PromptHistory, type Store } from "../../src/prompthistory.js";

function store(kept: Record<string, unknown> = {}): Store {
  return {
    get: (key) => kept[key],
    update: (key, value) => {
      kept[key] = value;
      return Promise.resolve();
    },
  };
}

test("prompts come back the newest first, each once", async () => {
  const history = new PromptHistory(store());
  for (const prompt of ["one", "two\nlines", " one ", ""]) await history.add(prompt);
  assert.deepEqual(history.list(), ["one", "two\nlines"]);
  await history.clear();
  assert.deepEqual(history.list(), []);
});

test("what is kept is bounded, and a long prompt is not cut", async () => {
  const history = new PromptHistory(store());
  for (let n = 0; n < maxPrompts + 5; n++) await history.add(`prompt ${n}`);
  await history.add("x".repeat(maxLength + 1));
  assert.equal(history.list().length, maxPrompts);
  assert.equal(history.list()[0], `prompt ${maxPrompts + 4}`);
});

test("what another version kept does no harm", () => {
  assert.deepEqual(new PromptHistory(store({ "agentls.prompts": { a: 1 } })).list(), []);
  assert.deepEqual(new PromptHistory(store({ "agentls.prompts": ["a", 1, null] })).list(), ["a"]);
});
