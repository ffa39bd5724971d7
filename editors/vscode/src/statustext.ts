/** What the status bar says. Without vscode. */
import type { ServerState } from "./server.js";
import { count, label, oneLine } from "./text.js";

export interface Standing {
  state: ServerState;
  reason: string | undefined;
  /** Live runs, and questions that wait for the person. */
  runs: number;
  questions: number;
  /** Names of MCP servers that failed, and of those that need the person otherwise. */
  failed: readonly string[];
  waiting: readonly string[];
  model: { provider: string; model?: string; error?: string } | undefined;
}

export interface StatusLook {
  text: string;
  /** A line each. */
  tooltip: string;
  /** For a screen reader. */
  spoken: string;
  severity: "none" | "warning" | "error";
}

/** The most urgent thing, in a few characters; the rest stands in the tooltip. */
export function statusOf(s: Standing): StatusLook {
  const [icon, beside, severity] = urgent(s);
  const lines = linesOf(s);
  return {
    text: `$(${icon}) agentls${beside === "" ? "" : ` ${beside}`}`,
    tooltip: lines.join("\n"),
    spoken: `agentls: ${lines.join(" ")}`,
    severity,
  };
}

function urgent(s: Standing): [icon: string, beside: string, severity: StatusLook["severity"]] {
  if (s.state === "failed" || s.state === "missing") return ["error", "", "error"];
  if (s.state === "stopped") return ["circle-slash", "", "warning"];
  if (s.state !== "ready") return ["loading~spin", "", "none"];
  if (s.questions > 0) return ["question", String(s.questions), "warning"];
  if (s.runs > 0) return ["loading~spin", s.runs > 1 ? String(s.runs) : "", "none"];
  if (s.model?.error !== undefined && s.model.error !== "") return ["warning", "", "none"];
  if (s.failed.length + s.waiting.length > 0) return ["warning", "", "none"];
  if (isOffline(s)) return ["comment-discussion", "set up", "none"];
  return ["comment-discussion", "", "none"];
}

export function isOffline({ model }: Standing): boolean {
  return model?.provider === "offline";
}

function linesOf(s: Standing): string[] {
  if (s.state !== "ready") return [oneLine(s.reason ?? "The agentls server is starting.", 400)];
  const lines = [modelLine(s)];
  lines.push(s.runs === 0 ? "Nothing runs." : `${count(s.runs, "run")}.`);
  if (s.questions > 0) lines.push(`${count(s.questions, "question waits", "questions wait")} for you.`);
  if (s.failed.length > 0) lines.push(`${count(s.failed.length, "MCP server")} failed: ${names(s.failed)}.`);
  if (s.waiting.length > 0) {
    lines.push(`${count(s.waiting.length, "MCP server waits", "MCP servers wait")} for you: ${names(s.waiting)}.`);
  }
  return lines;
}

/** Which model answers. */
export function modelLine({ model }: Standing): string {
  if (model === undefined) return "The configuration is being read.";
  const { provider, model: name, error } = model;
  if (error !== undefined && error !== "") return oneLine(error, 300);
  if (provider === "offline") return "No model is set up: the offline stand-in answers.";
  return name === undefined
    ? `${oneLine(provider, 80)} answers.`
    : `${oneLine(name, 80)} of ${oneLine(provider, 80)} answers.`;
}

function names(list: readonly string[]): string {
  const shown = list.slice(0, 5).map((name) => oneLine(name, 40));
  return shown.join(", ") + (list.length > shown.length ? ", …" : "");
}

/** The name of what answers, for a place that takes icons. */
export function modelLabel({ model }: Standing): string {
  return model === undefined ? "…" : label(model.model ?? model.provider, 60);
}
