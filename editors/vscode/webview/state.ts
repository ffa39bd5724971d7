import type { ToPanel, Row, Turn, TurnHead } from "../src/panel/messages.js";

/** What the webview knows of a conversation. Nothing of it is drawn here. */
export interface State {
  session: string;
  title: string;
  /** What is not here, in words. */
  omitted: string;
  loading: boolean;
  turns: Turn[];
}

export const empty = (): State => ({ session: "", title: "", omitted: "", loading: false, turns: [] });

/** A line of the conversation's list. */
export type Line =
  | { key: string; view: "prompt"; turn: Turn }
  | { key: string; view: "row"; turn: Turn; row: Row }
  | { key: string; view: "end"; turn: Turn };

/** What a message changed. */
export interface Change {
  /** Everything: draw it anew. */
  all: boolean;
  /** Lines came or went. */
  structure: boolean;
  /** Keys of lines to be drawn again, with what was added to the text of one. */
  touched: Map<string, string | undefined>;
  /** Turns whose status is another one. */
  heads: { before: string | undefined; turn: Turn }[];
}

type Conversation = Extract<ToPanel, { type: "conversation" | "patch" }>;

/** Takes what the extension says of the conversation. */
export function take(state: State, message: Conversation): Change {
  const change: Change = { all: false, structure: false, touched: new Map(), heads: [] };
  if (message.type === "conversation") {
    const { session, title, turns, loading } = message;
    Object.assign(state, { session, title, turns, loading, omitted: message.omitted ?? "" });
    return { ...change, all: true, structure: true };
  }
  if (message.session !== state.session) {
    return change; // of the conversation before
  }
  state.title = message.title ?? state.title;
  for (const head of message.heads ?? []) {
    takeHead(state, head, change);
  }
  for (const { turn: id, row } of message.rows ?? []) {
    const turn = find(state, id);
    if (turn) {
      takeRow(turn, row, change);
    }
  }
  for (const { turn: id, row: rowId, text } of message.append ?? []) {
    const row = find(state, id)?.rows.findLast((r) => r.id === rowId);
    if (row?.kind === "text" || row?.kind === "reasoning") {
      row.text += text;
      const key = keyOf(id, rowId);
      const before = change.touched.get(key);
      change.touched.set(key, change.touched.has(key) && before === undefined ? undefined : (before ?? "") + text);
    }
  }
  return change;
}

function find(state: State, id: string): Turn | undefined {
  return state.turns.findLast((t) => t.id === id);
}

function takeHead(state: State, head: TurnHead, change: Change): void {
  const turn = find(state, head.id);
  if (!turn) {
    const made = { ...head, rows: [] };
    state.turns.push(made);
    change.structure = true;
    change.heads.push({ before: undefined, turn: made });
    return;
  }
  change.heads.push({ before: turn.status, turn });
  change.structure ||= hasEnd(turn) !== hasEnd({ ...head, rows: [] });
  // What is left out is none any more.
  Object.assign(turn, { mode: undefined, status: undefined, startedAt: undefined, document: undefined });
  Object.assign(turn, { end: undefined, usage: undefined });
  Object.assign(turn, head);
  change.touched.set(keyOf(turn.id, "prompt"), undefined);
  change.touched.set(keyOf(turn.id, "end"), undefined);
}

function takeRow(turn: Turn, row: Row, change: Change): void {
  const i = turn.rows.findLastIndex((r) => r.id === row.id);
  if (i >= 0) {
    turn.rows[i] = row;
  } else {
    turn.rows.push(row);
    change.structure = true;
  }
  const part = partOf(row);
  const plan = part === undefined ? undefined : planOf(turn, row);
  change.touched.set(keyOf(turn.id, plan ? plan.id : row.id), undefined);
}

export const keyOf = (turn: string, line: string): string => `${turn}/${line}`;

/** The number of the plan's step that a row belongs to. */
export function partOf(row: Row): number | undefined {
  const part = row.kind === "tool" ? row.call.part : row.kind === "reasoning" ? row.part : undefined;
  const n = /^(?:step|reviewer) (\d+)$/.exec(part ?? "")?.[1];
  return n === undefined ? undefined : Number(n);
}

/** The plan under whose step a row stands: the last one before it. */
export function planOf(turn: Turn, row: Row): Extract<Row, { kind: "plan" }> | undefined {
  const at = turn.rows.indexOf(row);
  const plan = turn.rows.findLast((r, i) => r.kind === "plan" && (at < 0 || i < at));
  return plan?.kind === "plan" ? plan : undefined;
}

/** The rows that stand under a step of a plan. */
export function rowsOf(turn: Turn, plan: Row, step: number): Row[] {
  return turn.rows.filter((r) => partOf(r) === step && planOf(turn, r) === plan);
}

const isLive = (turn: Turn): boolean => ["queued", "running", "waiting"].includes(turn.status ?? "");

/** Something is said behind a turn: that it works, or how it ended. */
export function hasEnd(turn: Turn): boolean {
  return (
    isLive(turn) || turn.usage !== undefined || turn.end !== undefined || (turn.status ?? "completed") !== "completed"
  );
}

/** The lines of a conversation. What stands under a plan's step is drawn with the plan. */
export function linesOf(state: State): Line[] {
  const out: Line[] = [];
  for (const turn of state.turns) {
    if (turn.prompt !== "") {
      out.push({ key: keyOf(turn.id, "prompt"), view: "prompt", turn });
    }
    let planned = false;
    for (const row of turn.rows) {
      planned ||= row.kind === "plan";
      if (!planned || partOf(row) === undefined) {
        out.push({ key: keyOf(turn.id, row.id), view: "row", turn, row });
      }
    }
    if (hasEnd(turn)) {
      out.push({ key: keyOf(turn.id, "end"), view: "end", turn });
    }
  }
  return out;
}

/** The run that a text would be added to: the one that works, not one that waits behind it. */
export function liveTurn(state: State): Turn | undefined {
  return state.turns.find((t) => t.own && isLive(t));
}

/** The prompts of a conversation, the oldest first, each once. */
export function promptsOf(state: State): string[] {
  return [...new Set(state.turns.map((t) => t.prompt).filter((p) => p !== ""))];
}
