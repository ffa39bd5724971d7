import assert from "node:assert/strict";
import { test } from "node:test";
import { Restarts } from "../../src/restarts.js";

test("restarts are bounded within their window", () => {
  const restarts = new Restarts(2, 1000);
  assert.equal(restarts.allows(0), true);
  assert.equal(restarts.allows(500), true);
  assert.equal(restarts.allows(999), false);
  assert.equal(restarts.allows(1001), true, "the first has left the window");
  assert.equal(restarts.allows(1002), false);
  restarts.clear();
  assert.equal(restarts.allows(1003), true);
});
