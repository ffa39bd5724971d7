import assert from "node:assert/strict";
import { test } from "node:test";
import type { RunInfo } from "../../src/protocol.js";
import { names, runRow, undoable, undoWords } from "../../src/undotext.js";

const run = (runId: string, changed?: string[]): RunInfo => ({
  runId,
  session: "s",
  mode: "react",
  status: "completed",
  startedAt: new Date(0).toISOString(),
  prompt: "do $(it)",
  ...(changed === undefined ? {} : { changed }),
});
const nameOf = (uri: string) => uri.slice("file:///".length);

test("runs that changed something can be undone, the newest first", () => {
  const runs = undoable([run("1", ["file:///a"]), run("2"), run("3", []), run("4", ["file:///b"])]);
  assert.deepEqual(
    runs.map((r) => r.runId),
    ["4", "1"],
  );
  const row = runRow(runs[0]!, 120_000, nameOf);
  assert.equal(row.label, "do \\$(it)");
  assert.equal(row.description, "2 min ago · completed");
  assert.equal(row.detail, "b");
});

test("what was done is one sentence", () => {
  assert.equal(undoWords({ restored: [], refused: [], untracked: [] }, nameOf), "The run changed no files.");
  assert.equal(
    undoWords(
      {
        restored: ["file:///a"],
        refused: [{ uri: "file:///b", reason: "changed since" }],
        untracked: ["run_command"],
      },
      nameOf,
    ),
    "Undo: restored a; left 1 file as it is; what run_command did is not known here.",
  );
  assert.equal(
    undoWords(
      { restored: [], refused: [1, 2].map((n) => ({ uri: `file:///${n}`, reason: "" })), untracked: [] },
      nameOf,
    ),
    "Undo: left 2 files as they are.",
  );
  assert.equal(names(["file:///a", "file:///b", "file:///c", "file:///d"], nameOf), "a, b, c and 1 more file");
});
