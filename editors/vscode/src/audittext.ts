/** The audit log as a table of text. Without vscode. */
import type { AuditLine } from "./protocol.js";
import { oneLine } from "./text.js";
import { localDate, localTime, plural } from "./when.js";

export interface AuditFilter {
  tool?: string;
  runId?: string;
}

/** How many lines are asked for: the most that the server gives. */
export const auditLimit = 1000;

/** A line of the table that tells of a call, and how that ended. */
export interface AuditMark {
  line: number;
  outcome: AuditLine["outcome"];
}

export interface AuditTable {
  text: string;
  marks: AuditMark[];
}

/** The table, the newest first. lines: the oldest first, as the server gives them. */
export function auditTable(lines: readonly AuditLine[], filter: AuditFilter): AuditTable {
  const out = [title(lines.length, filter), ""];
  const marks: AuditMark[] = [];
  const wide = widths(lines);
  let day = "";
  for (const line of [...lines].reverse()) {
    const time = Date.parse(line.time);
    const its = localDate(time);
    if (its !== day) {
      if (day !== "") out.push("");
      out.push(its);
      day = its;
    }
    marks.push({ line: out.length, outcome: line.outcome });
    out.push(row(line, localTime(time), wide));
    if (line.reason !== undefined && line.reason !== "") out.push(" ".repeat(12) + "↳ " + oneLine(line.reason));
  }
  if (lines.length === 0) out.push(nothing(filter));
  return { text: out.join("\n") + "\n", marks };
}

/** Of whom a line tells, as `server/tool`. */
export function toolOf(line: AuditLine): string {
  return line.server === undefined || line.server === "" ? line.tool : `${line.server}/${line.tool}`;
}

function title(count: number, filter: AuditFilter): string {
  const words = [`agentls audit: ${plural(count, "call")}`];
  if (filter.tool !== undefined) words.push(`of ${filter.tool}`);
  if (filter.runId !== undefined) words.push(`of the run ${filter.runId}`);
  if (count >= auditLimit) words.push(`the last ${auditLimit} (older ones: agentls audit in a terminal)`);
  return words.join(", ");
}

function nothing(filter: AuditFilter): string {
  return filter.tool === undefined && filter.runId === undefined
    ? "Nothing was called yet. Each call of a tool, read of a mention and login gets a line here."
    : "Nothing fits. Show all to see the rest.";
}

function row(line: AuditLine, time: string, wide: number[]): string {
  const cells = cellsOf(line).map((cell, i) => cell.padEnd(wide[i] ?? 0));
  const run = line.runId === undefined || line.runId === "" ? "" : `run ${line.runId.slice(0, 8)}`;
  return [`  ${time}`, ...cells, duration(line.durationMs).padStart(8), run.padEnd(12), argumentsOf(line)]
    .join("  ")
    .trimEnd();
}

function cellsOf(line: AuditLine): [string, string, string] {
  return [line.outcome, oneLine(toolOf(line), 60), oneLine(line.decidedBy, 40)];
}

function widths(lines: readonly AuditLine[]): number[] {
  const wide = [0, 0, 0];
  for (const line of lines) {
    for (const [i, cell] of cellsOf(line).entries()) wide[i] = Math.max(wide[i] ?? 0, cell.length);
  }
  return wide;
}

/** Milliseconds in words. */
export function duration(ms: number): string {
  if (ms < 1000) return `${ms} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}

function argumentsOf(line: AuditLine): string {
  if (line.arguments === undefined || line.arguments === null) return "";
  return oneLine(typeof line.arguments === "string" ? line.arguments : JSON.stringify(line.arguments), 200);
}
