import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { Throttle } from "../../src/throttle.js";

test("the first is told at once, the rest together, at most once in a pause", () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  try {
    const told: string[][] = [];
    const throttle = new Throttle<string>(250, (keys) => told.push(keys));
    throttle.add(["a"]);
    for (let i = 0; i < 100; i++) throttle.add(["b", "c"]);
    assert.deepEqual(told, [["a"]]);
    mock.timers.tick(249);
    assert.equal(told.length, 1);
    mock.timers.tick(1);
    assert.deepEqual(told, [["a"], ["b", "c"]]);
    throttle.add(["a"]);
    mock.timers.tick(250);
    assert.deepEqual(told, [["a"], ["b", "c"], ["a"]]);
    mock.timers.tick(250);
    throttle.add([]);
    assert.equal(told.length, 3);
    throttle.add(["d"]);
    assert.deepEqual(told.at(-1), ["d"]);
  } finally {
    mock.timers.reset();
  }
});

test("nothing is told after the end", () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  try {
    const told: string[][] = [];
    const throttle = new Throttle<string>(250, (keys) => told.push(keys));
    throttle.add(["a"]);
    throttle.add(["b"]);
    throttle.dispose();
    mock.timers.tick(1000);
    assert.deepEqual(told, [["a"]]);
  } finally {
    mock.timers.reset();
  }
});
