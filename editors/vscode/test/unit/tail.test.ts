import assert from "node:assert/strict";
import test from "node:test";
import { Tail } from "../../src/tail.js";

test("a view follows what grows below it", () => {
  const tail = new Tail(10);
  tail.scrolled(10, 40, 45); // the text grew: the same lines are visible
  assert.equal(tail.follows, true);
  tail.scrolled(15, 45, 46);
  assert.equal(tail.follows, true);
});

test("who scrolls up reads on in peace, until the end is seen or gone to", () => {
  const tail = new Tail(10);
  tail.scrolled(5, 35, 50);
  assert.equal(tail.follows, false);
  tail.scrolled(8, 38, 60); // down, but not to the end
  assert.equal(tail.follows, false);
  tail.scrolled(30, 59, 60);
  assert.equal(tail.follows, true);
  tail.scrolled(20, 50, 60);
  tail.returned();
  assert.equal(tail.follows, true);
});
