import assert from "node:assert/strict";
import { test } from "node:test";
import { modelRows } from "../../src/modeltext.js";

test("the provider in force stands first with its model marked, failures say why", () => {
  const rows = modelRows({
    provider: "b",
    model: "m2",
    choices: [
      { provider: "a", error: "cannot reach $(x)" },
      { provider: "b", models: ["m1", "m2"] },
      { provider: "offline" },
    ],
  });
  assert.deepEqual(rows, [
    { label: "b" },
    { label: "m1", choice: { provider: "b", model: "m1" } },
    { label: "$(check) m2", description: "in force", choice: { provider: "b", model: "m2" } },
    { label: "a" },
    {
      label: "$(warning) It does not list its models",
      detail: "cannot reach \\$(x)",
      choice: { provider: "a", setUp: true },
    },
    { label: "offline" },
    { label: "offline", description: "without models", choice: { provider: "offline" } },
  ]);
});
