import assert from "node:assert/strict";
import test from "node:test";
import { Runs } from "../../src/runs.js";
import { label } from "../../src/text.js";

test("a foreign text in a label is no icon", () => {
  assert.equal(label("$(trash) gone\nnow"), "\\$(trash) gone now");
});

test("a run that was expected and never began has ended", () => {
  const runs = new Runs(() => 1);
  const told: string[] = [];
  runs.onDidChange((run) => told.push(run.status));
  for (const id of ["a", "b", "c"]) runs.expect({ id, session: "s", prompt: "p" });
  runs.unbegun("a", "there is no prompt");
  runs.unbegun("b", undefined);
  runs.apply({ kind: "started", runId: "c", session: "s", seq: 1 });
  runs.unbegun("c", "the connection was lost");
  assert.deepEqual(told, ["failed", "cancelled", "running"]);
  assert.equal(runs.get("a")?.error?.message, "there is no prompt");
});
