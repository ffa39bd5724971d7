import assert from "node:assert/strict";
import { test } from "node:test";
import { auditTable, duration } from "../../src/audittext.js";
import type { AuditLine } from "../../src/protocol.js";

function line(more: Partial<AuditLine>, at = new Date(2026, 10, 30, 12, 0, 0)): AuditLine {
  return { time: at.toISOString(), tool: "echo", outcome: "completed", decidedBy: "user", durationMs: 5, ...more };
}

test("the newest call stands first, under its day, with its reason", () => {
  const lines = [
    line({ tool: "old" }, new Date(2026, 10, 29, 9, 5, 7)),
    line({ server: "fs", arguments: { path: "a\nb" }, runId: "0123456789" }),
    line({ tool: "run_command", outcome: "denied", decidedBy: "rule:run_command", reason: "a rule\nforbids it" }),
  ];
  const { text, marks } = auditTable(lines, {});
  const rows = text.split("\n");
  assert.deepEqual(rows.slice(0, 4), ["agentls audit: 3 calls", "", "2026-11-30", rows[3]]);
  assert.match(rows[3]!, /^ {2}12:00:00 {2}denied {5}run_command {2}rule:run_command {6}5 ms$/);
  assert.equal(rows[4], "            ↳ a rule forbids it");
  assert.match(
    rows[5]!,
    /^ {2}12:00:00 {2}completed {2}fs\/echo {6}user.* 5 ms {2}run 01234567 {2}\{"path":"a\\nb"\}$/,
  );
  assert.deepEqual(rows.slice(6, 8), ["", "2026-11-29"]);
  assert.deepEqual(
    marks.map((m) => [rows[m.line]!.includes(m.outcome), m.outcome]),
    [
      [true, "denied"],
      [true, "completed"],
      [true, "completed"],
    ],
  );
});

test("the title says what is shown, and nothing is said in words", () => {
  assert.match(auditTable([], {}).text, /^agentls audit: 0 calls\n\nNothing was called yet/);
  assert.match(auditTable([], { tool: "x", runId: "r" }).text, /0 calls, of x, of the run r\n\nNothing fits\./);
  assert.match(
    auditTable(
      Array.from({ length: 1000 }, () => line({})),
      {},
    ).text,
    /the last 1000/,
  );
});

test("durations are words", () => {
  assert.deepEqual([0, 999, 1500, 61_000].map(duration), ["0 ms", "999 ms", "1.5 s", "1 min 1 s"]);
});
