/** Answers: those that a question takes, and how they go over the wire (CONTRACT §7). Without vscode. */
import type { ApproveResult, PlanResult, PlanStep } from "../protocol.js";
import type { Answer, Choice, Question } from "./question.js";

const choices: readonly Choice[] = ["deny", "once", "session", "always", "cancel", "revise"];

/** What the page says, where it is an answer at all. */
export function readAnswer(value: unknown): Answer | undefined {
  if (!isObject(value)) return undefined;
  const { decision, reason, arguments: args, content } = value;
  if (!choices.some((c) => c === decision)) return undefined;
  if (reason !== undefined && typeof reason !== "string") return undefined;
  if (args !== undefined && !isObject(args)) return undefined;
  if (content !== undefined && !isObject(content)) return undefined;
  return {
    decision: decision as Choice,
    ...(reason !== undefined && { reason }),
    ...(args !== undefined && { arguments: args }),
    ...(content !== undefined && { content }),
  };
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether a question takes an answer: no yes beyond what it offers. */
export function takes(q: Question, a: Answer): boolean {
  switch (a.decision) {
    case "deny":
      return true;
    case "cancel":
      return canCancel(q);
    case "revise":
      return q.kind === "plan";
    default:
      return q.decisions.includes(a.decision);
  }
}

/** Whether neither yes nor no is an answer that its asker knows. */
export function canCancel(q: Question): boolean {
  return q.kind === "elicit";
}

/** The answer to agentls/approve and agentls/elicit, and the rest of agentls.approve's argument. */
export function approveResult(q: Question, a: Answer): ApproveResult {
  switch (a.decision) {
    case "cancel":
      return { decision: "deny", reason: "dismissed" };
    case "revise":
      return { decision: "deny", content: { decision: "revise", note: a.reason ?? "" } };
    case "deny":
      return { decision: "deny", ...reasonOf(a) };
    default:
      return {
        decision: a.decision,
        ...(a.arguments !== undefined && { arguments: a.arguments }),
        ...(a.content !== undefined && { content: a.content }),
        ...(q.form !== undefined && a.content === undefined && { content: {} }),
      };
  }
}

/** The answer to agentls/plan. */
export function planResult(a: Answer): PlanResult {
  switch (a.decision) {
    case "revise":
      return { decision: "revise", note: a.reason ?? "" };
    case "deny":
    case "cancel":
      return { decision: "stop", ...(a.reason ? { note: a.reason } : {}) };
    default: {
      const steps = a.content?.["steps"];
      return { decision: "run", ...(Array.isArray(steps) ? { steps: steps as PlanStep[] } : {}) };
    }
  }
}

function reasonOf(a: Answer): { reason?: string } {
  const reason = a.reason?.trim() ?? "";
  return reason === "" ? {} : { reason };
}

/** What is kept of an answer in case that it is asked about once more: no secrets. */
export function kept(q: Question, a: Answer): Record<string, unknown> | undefined {
  if (a.content === undefined) return undefined;
  const secret = new Set(q.form?.fields.filter((f) => f.secret).map((f) => f.name));
  return Object.fromEntries(Object.entries(a.content).filter(([name]) => !secret.has(name)));
}
