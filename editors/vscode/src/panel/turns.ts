/** What the chat view shows of runs and of sessions: turns and their rows. Without vscode. */
import type { ApprovalEvent, PlanStep, SessionMessage, SessionText } from "../protocol.js";
import { isLive, type Item, type Run } from "../runs.js";
import type { Row, ToolRow, Turn, TurnEnd, TurnHead } from "./messages.js";

/** What the view adds to a run: what it sent itself. */
export interface Extra {
  /** What was attached, for a person. */
  document?: string;
  /** What was added to the run, each behind so many items. */
  steers: { after: number; text: string }[];
  /** Results of calls by their id, once they were asked for. */
  results: Map<string, string>;
}

export function headOf(run: Run, extra: Extra | undefined, labelOf: (uri: string) => string): TurnHead {
  const end = isLive(run) ? undefined : endOf(run, labelOf);
  return {
    id: run.id,
    own: true,
    prompt: run.prompt ?? "",
    status: run.status,
    startedAt: run.startedAt,
    ...(run.mode === undefined ? {} : { mode: run.mode }),
    ...(extra?.document === undefined ? {} : { document: extra.document }),
    ...(end === undefined ? {} : { end }),
    ...(run.usage === undefined ? {} : { usage: run.usage }),
  };
}

const stopWords: Record<string, string> = {
  content_filter: "The provider withheld the rest of the answer.",
  length: "The answer was longer than the model may answer.",
  loop: "The model repeated itself.",
  max_steps: "The limit of steps was reached.",
  max_tokens: "The limit of tokens was reached.",
  plan_stopped: "You stopped at the plan.",
};

function endOf(run: Run, labelOf: (uri: string) => string): TurnEnd {
  const why = run.status === "stopped" ? (run.result?.note ?? stopWords[run.stopReason ?? ""]) : undefined;
  const untracked = run.result?.untracked ?? [];
  return {
    ...(run.stopReason === undefined ? {} : { stopReason: run.stopReason }),
    ...(why === undefined ? {} : { note: why }),
    ...(run.error === undefined || run.status !== "failed" ? {} : { error: run.error }),
    ...(run.changed?.length ? { changed: run.changed.map((c) => ({ ...c, label: labelOf(c.uri) })) } : {}),
    ...(untracked.length > 0 ? { untracked } : {}),
    ...(run.endedAt === undefined || run.seq === 0 ? {} : { durationMs: run.endedAt - run.startedAt }),
  };
}

/** The row of an item; undefined: it is shown elsewhere. */
export function rowOf(run: Run, index: number, extra: Extra | undefined): Row | undefined {
  const item = run.items[index];
  const id = String(index);
  switch (item?.kind) {
    case "text":
    case "reasoning":
      return { id, kind: item.kind, text: item.text };
    case "tool":
      return { id, kind: "tool", call: toolOf(run, item, extra) };
    case "plan":
      return { id, kind: "plan", plan: item.plan.plan, steps: item.plan.steps.map(stepOf) };
    case "mention":
      return { id, kind: "mention", ...item.mention };
    case "approval": // a card asks
    case undefined:
      return undefined;
  }
}

function toolOf(run: Run, item: Extract<Item, { kind: "tool" }>, extra: Extra | undefined): ToolRow {
  const { call } = item;
  const told = run.result?.toolCalls?.find((c) => c.id === call.id && c.tool === call.tool);
  const result = extra?.results.get(call.id);
  const durationMs = told?.durationMs ?? (item.endedAt === undefined ? undefined : item.endedAt - item.startedAt);
  return {
    id: call.id,
    tool: call.tool,
    state: waits(run, item) ? "waiting" : call.state,
    startedAt: item.startedAt,
    ...(call.server === undefined ? {} : { server: call.server }),
    ...(call.part === undefined ? {} : { part: call.part }),
    ...(call.message === undefined ? {} : { message: call.message }),
    ...(call.arguments === undefined ? {} : { arguments: JSON.stringify(call.arguments) }),
    ...(durationMs === undefined ? {} : { durationMs }),
    ...(result === undefined ? {} : { result }),
  };
}

/** What can change of an item's row while the item stays the same. */
export function changing(run: Run, item: Item, extra: Extra | undefined): string {
  if (item.kind !== "tool") return "";
  const told = run.result?.toolCalls?.length ?? 0;
  return `${waits(run, item)} ${told} ${extra?.results.get(item.call.id)?.length ?? ""}`;
}

/** Whether a question about the call is open: the oldest pending call of the tool that is asked about. */
function waits(run: Run, item: Extract<Item, { kind: "tool" }>): boolean {
  if (item.call.state !== "pending" || run.status !== "waiting") return false;
  const asks = (i: Item): i is { kind: "approval"; approval: ApprovalEvent } =>
    i.kind === "approval" && i.approval.state === "open" && i.approval.tool === item.call.tool;
  const open = run.items.filter((i) => asks(i) && (i.approval.server ?? "") === (item.call.server ?? "")).length;
  const pending = run.items.filter(
    (i) =>
      i.kind === "tool" &&
      i.call.state === "pending" &&
      i.call.tool === item.call.tool &&
      i.call.server === item.call.server,
  );
  return pending.indexOf(item) < open;
}

const stepOf = ({ id, title, dependsOn, status, note }: PlanStep): PlanStep => ({
  id,
  title,
  dependsOn,
  ...(status === undefined ? {} : { status }),
  ...(note === undefined ? {} : { note }),
});

/** The whole turn of a run. */
export function turnOf(run: Run, extra: Extra | undefined, labelOf: (uri: string) => string): Turn {
  const rows: Row[] = [];
  const steers = extra?.steers ?? [];
  for (let i = 0; i <= run.items.length; i++) {
    for (const [n, steer] of steers.entries()) {
      if (Math.min(steer.after, run.items.length) === i) rows.push(steerRow(n, steer.text));
    }
    const row = rowOf(run, i, extra);
    if (row) rows.push(row);
  }
  if (run.omitted > 0) rows.unshift({ id: "omitted", kind: "note", text: omittedWords(run) });
  return { ...headOf(run, extra, labelOf), rows };
}

export const steerRow = (n: number, text: string): Row => ({ id: `steer-${n}`, kind: "steer", text });

const omittedWords = (run: Run): string =>
  `The first ${run.omitted.toLocaleString("en")} characters are not kept here; the session has the whole.`;

/** The turns of a session as it was kept; what the runs of this window tell better is left out. */
export function pastTurns(text: SessionText, isKnown: (runId: string) => boolean): Turn[] {
  const turns: Turn[] = [];
  let skipping = false;
  for (const [i, m] of text.messages.entries()) {
    if (m.role === "user" && m.runId !== undefined) {
      skipping = isKnown(m.runId);
      if (!skipping) turns.push({ id: m.runId, own: false, prompt: m.text, rows: [], startedAt: Date.parse(m.time) });
    } else if (!skipping) {
      if (turns.length === 0) turns.push({ id: "past-0", own: false, prompt: "", rows: [] });
      const turn = turns.at(-1);
      turn?.rows.push(...pastRows(m, i));
      if (m.role === "tool") giveResult(turn, m);
    }
  }
  return turns;
}

function pastRows(m: SessionMessage, index: number): Row[] {
  const id = `m${index}`;
  if (m.role === "user") return m.text.trim() === "" ? [] : [{ id, kind: "steer", text: m.text }];
  if (m.role !== "assistant") return [];
  const calls = (m.toolCalls ?? []).map((c, n): Row => {
    const [, server, tool] = /^mcp__(.+?)__(.+)$/.exec(c.name) ?? [];
    const call: ToolRow = { id: c.id, tool: tool ?? c.name, state: "called", arguments: argumentsOf(c.arguments) };
    return { id: `${id}-${n}`, kind: "tool", call: server === undefined ? call : { ...call, server } };
  });
  return m.text.trim() === "" ? calls : [{ id, kind: "text", text: m.text }, ...calls];
}

const argumentsOf = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

function giveResult(turn: Turn | undefined, m: SessionMessage): void {
  const row = turn?.rows.findLast((r) => r.kind === "tool" && r.call.id === m.toolCallId);
  if (row?.kind === "tool") row.call.result = m.text;
}

/** The results of calls in a session, by the ids of the calls. */
export function resultsIn(text: SessionText): Map<string, string> {
  return new Map(
    text.messages.flatMap((m) =>
      m.role === "tool" && m.toolCallId !== undefined ? [[m.toolCallId, m.text] as const] : [],
    ),
  );
}
