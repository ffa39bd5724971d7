import assert from "node:assert/strict";
import test from "node:test";
import { type Standing, statusOf } from "../../src/statustext.js";

const ready: Standing = {
  state: "ready",
  reason: undefined,
  runs: 0,
  questions: 0,
  failed: [],
  waiting: [],
  model: { provider: "local", model: "m1" },
};

test("the most urgent thing stands in the status bar", () => {
  const cases: [Partial<Standing>, string, string][] = [
    [{}, "$(comment-discussion) agentls", "none"],
    [{ model: undefined }, "$(comment-discussion) agentls", "none"],
    [{ model: { provider: "offline" } }, "$(comment-discussion) agentls set up", "none"],
    [{ failed: ["a"] }, "$(warning) agentls", "none"],
    [{ model: { provider: "x", error: "no model" } }, "$(warning) agentls", "none"],
    [{ runs: 1, failed: ["a"] }, "$(loading~spin) agentls", "none"],
    [{ runs: 3 }, "$(loading~spin) agentls 3", "none"],
    [{ runs: 3, questions: 2 }, "$(question) agentls 2", "warning"],
    [{ state: "starting" }, "$(loading~spin) agentls", "none"],
    [{ state: "restarting", questions: 2 }, "$(loading~spin) agentls", "none"],
    [{ state: "stopped" }, "$(circle-slash) agentls", "warning"],
    [{ state: "failed", reason: "It ended." }, "$(error) agentls", "error"],
    [{ state: "missing" }, "$(error) agentls", "error"],
  ];
  for (const [more, text, severity] of cases) {
    const look = statusOf({ ...ready, ...more });
    assert.deepEqual([look.text, look.severity], [text, severity], JSON.stringify(more));
  }
});

test("the rest stands in the tooltip, foreign names without what is unseen", () => {
  const { tooltip, spoken } = statusOf({
    ...ready,
    runs: 1,
    questions: 1,
    failed: ["a\u202e\nb"],
    waiting: ["c", "d", "e", "f", "g", "h"],
  });
  assert.deepEqual(tooltip.split("\n"), [
    "m1 of local answers.",
    "1 run.",
    "1 question waits for you.",
    "1 MCP server failed: a b.",
    "6 MCP servers wait for you: c, d, e, f, g, ….",
  ]);
  assert.match(spoken, /^agentls: m1 of local answers\. 1 run\. /);
  assert.equal(statusOf({ ...ready, state: "failed", reason: "It ended too often." }).tooltip, "It ended too often.");
});
