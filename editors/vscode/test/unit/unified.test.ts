import assert from "node:assert/strict";
import { test } from "node:test";
import { hunksOf, patched } from "../../src/questions/unified.js";

const diff = (...lines: string[]): string => ["--- a", "+++ a", ...lines].join("\n") + "\n";

for (const [name, before, text, want] of [
  ["a line in the middle", "1\n2\n3\n", diff("@@ -1,3 +1,3 @@", " 1", "-2", "+two", " 3"), "1\ntwo\n3\n"],
  ["a new file", "", diff("@@ -0,0 +1,2 @@", "+1", "+2"), "1\n2\n"],
  ["all goes", "1\n", diff("@@ -1 +0,0 @@", "-1"), ""],
  ["appended", "1\n", diff("@@ -1 +1,2 @@", " 1", "+2"), "1\n2\n"],
  ["inserted without context", "1\n2\n", diff("@@ -1,0 +2 @@", "+1½"), "1\n1½\n2\n"],
  ["two hunks", "a\nb\nc\nd\ne\n", diff("@@ -1,2 +1,1 @@", "-a", " b", "@@ -5 +4,2 @@", " e", "+f"), "b\nc\nd\ne\nf\n"],
  ["no newline before", "1", diff("@@ -1 +1 @@", "-1", "\\ No newline at end of file", "+2"), "2\n"],
  ["no newline after", "1\n", diff("@@ -1 +1 @@", "-1", "+2", "\\ No newline at end of file"), "2"],
  [
    "no newline on either side",
    "0\n1",
    diff("@@ -1,2 +1,2 @@", "-0", "+zero", " 1", "\\ No newline at end of file"),
    "zero\n1",
  ],
  ["CRLF", "1\r\n2\r\n", diff("@@ -1,2 +1,2 @@", " 1\r", "-2\r", "+two\r"), "1\r\ntwo\r\n"],
  ["lines like names", "-- a\n", diff("@@ -1 +1 @@", "--- a", "+++ b"), "++ b\n"],
  ["another text", "1\nX\n3\n", diff("@@ -1,3 +1,3 @@", " 1", "-2", "+two", " 3"), undefined],
  ["too short a text", "1\n", diff("@@ -1,3 +1,3 @@", " 1", "-2", "+two", " 3"), undefined],
  ["hunks that overlap", "1\n2\n", diff("@@ -1,2 +1,2 @@", "-1", "+x", " 2", "@@ -2 +2 @@", "-2", "+y"), undefined],
  ["cut", "1\n2\n3\n", diff("@@ -1,3 +1,3 @@", " 1", "[… 3 lines …]", " 3"), undefined],
  ["cut at the end", "1\n2\n3\n", diff("@@ -1,3 +1,3 @@", " 1", "-2"), undefined],
  ["not shown", "1\n", "[too many lines to be shown]", undefined],
  ["nothing", "1\n", "", undefined],
] as const) {
  test(`patched: ${name}`, () => assert.equal(patched(before, text), want));
}

test("hunks keep their lines with their signs", () => {
  assert.deepEqual(hunksOf(diff("@@ -3,2 +3,1 @@ func f", " a", "-b")), [{ start: 3, lines: [" a", "-b"] }]);
});
