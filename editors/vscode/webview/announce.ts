import { el } from "./dom.js";
import type { Change } from "./state.js";

const said: Record<string, string> = {
  queued: "The prompt waits for its turn.",
  running: "agentls works.",
  waiting: "agentls waits for your answer.",
  completed: "agentls has answered.",
  stopped: "The run was stopped.",
  failed: "The run failed.",
  cancelled: "The run was cancelled.",
};

/** Tells a screen reader what happens to runs: each state once, and no word of the stream. */
export class Announcer {
  readonly element = el("div", { class: "sr", role: "status", "aria-live": "polite" });
  readonly #steps = new Map<string, string>();

  take(change: Change): void {
    for (const { before, turn } of change.heads) {
      const words = turn.status === undefined || turn.status === before ? undefined : said[turn.status];
      if (words) {
        const why = turn.status === "failed" ? (turn.end?.error?.message ?? "") : "";
        const answer = turn.status === "completed" ? beginning(turn) : "";
        this.say([words, why, answer].filter(Boolean).join(" "));
      }
      this.#plan(turn);
    }
  }

  say(text: string): void {
    this.element.textContent = text;
  }

  #plan(turn: Change["heads"][number]["turn"]): void {
    const plan = turn.rows.findLast((r) => r.kind === "plan");
    plan?.steps.forEach((step, i) => {
      const key = `${turn.id}/${plan.id}/${step.id}`;
      const before = this.#steps.get(key);
      const status = step.status ?? "pending";
      this.#steps.set(key, status);
      if (before !== undefined && before !== status && status !== "running") {
        this.say(`Step ${String(i + 1)} of ${String(plan.steps.length)} ${status}: ${step.title}`);
      }
    });
  }
}

/** The first words of the last answer. */
function beginning(turn: Change["heads"][number]["turn"]): string {
  const text = turn.rows.findLast((r) => r.kind === "text");
  return text?.kind === "text" ? text.text.slice(0, 400) : "";
}
