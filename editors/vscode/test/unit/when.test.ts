import assert from "node:assert/strict";
import { test } from "node:test";
import { ago, era } from "../../src/when.js";

const at = (day: number, hour: number, minute = 0) => new Date(2026, 10, day, hour, minute).getTime();

test("times are words", () => {
  const now = at(30, 12);
  const said = [at(30, 12), at(30, 11, 59), at(30, 10), at(29, 12), at(26, 11), at(2, 9), Number.NaN].map((t) =>
    ago(t, now),
  );
  assert.deepEqual(said, [
    "just now",
    "1 min ago",
    "2 h ago",
    "1 day ago",
    "4 days ago",
    "2026-11-02",
    "at an unknown time",
  ]);
});

test("days are calendar days", () => {
  const now = at(30, 0, 5);
  const eras = [at(30, 0), at(29, 23, 59), at(28, 12), at(24, 0), at(23, 23)].map((t) => era(t, now));
  assert.deepEqual(eras, ["Today", "Yesterday", "This week", "This week", "Older"]);
});
