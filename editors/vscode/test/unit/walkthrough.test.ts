import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import type { RunEvent } from "../../src/protocol.js";
import { Runs } from "../../src/runs.js";
import { stepsOf } from "../../src/walkthroughsteps.js";

/** What a run's events tick off. */
function ticked(...events: object[]): string[] {
  const runs = new Runs();
  events.forEach((event, i) => {
    runs.apply({ runId: "r", session: "s", seq: i + 1, ...event } as RunEvent);
  });
  return stepsOf(runs.get("r")!);
}

test("a run ticks off what it did", () => {
  const mention = { kind: "mention", mention: { server: "s", uri: "u", status: "expanded" } };
  const approval = (state: string) => ({ kind: "approval", approval: { id: "a", kind: "tool", tool: "t", state } });
  assert.deepEqual(ticked({ kind: "queued" }, { kind: "started" }, approval("open")), []);
  assert.deepEqual(
    ticked({ kind: "started" }, mention, mention, approval("open"), approval("resolved"), {
      kind: "finished",
      status: "completed",
    }),
    ["agentls.answered", "agentls.mentioned", "agentls.decided"],
  );
  assert.deepEqual(ticked({ kind: "started" }, { kind: "finished", status: "failed" }), []);
});

interface Walkthrough {
  steps: { id: string; description: string; media: { svg: string; altText: string }; completionEvents: string[] }[];
}

test("each step has its picture, which loads nothing, and leads to commands that are there", () => {
  const { contributes } = JSON.parse(readFileSync("package.json", "utf8")) as {
    contributes: { walkthroughs: Walkthrough[]; commands: { command: string }[] };
  };
  const commands = contributes.commands.map((c) => c.command);
  const steps = contributes.walkthroughs.flatMap((w) => w.steps);
  assert.equal(steps.length, 7);
  for (const step of steps) {
    assert.ok(existsSync(step.media.svg), step.media.svg);
    assert.doesNotMatch(readFileSync(step.media.svg, "utf8"), /<script|href|url\((?!#)|#[0-9a-f]{3,6}/iu, step.id);
    assert.ok(step.completionEvents.length > 0 && step.media.altText !== "");
    const led = Array.from(step.description.matchAll(/\(command:(agentls\.[\w.]+)/gu), (m) => m[1]!);
    const ends = step.completionEvents.flatMap((e) => /^onCommand:(.*)/u.exec(e)?.slice(1) ?? []);
    for (const command of [...led, ...ends]) assert.ok(commands.includes(command), command);
  }
});
