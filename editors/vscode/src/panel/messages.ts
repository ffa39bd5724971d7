// What the extension and the chat's webview say to each other. Types only, but
// for the bounds: the webview is untrusted, validate.ts holds what it says
// against these.
import type { Answer, Question } from "../questions/question.js";
import type { Failure, Mode, PlanStep, Range, Usage } from "../protocol.js";

/** A conversation is one session: turns in order, each a prompt and what came of it. */
export interface Turn {
  /** The run's id, or `past-N` of what was loaded without one. */
  id: string;
  /** False: loaded from the session, nothing can be done to the run any more. */
  own: boolean;
  prompt: string;
  mode?: string;
  /** A status of RunResult (CONTRACT §4), or `queued`, `running`, `waiting`; absent: not known. */
  status?: string;
  /** Milliseconds since the epoch. */
  startedAt?: number;
  /** What was attached, for a person. */
  document?: string;
  end?: TurnEnd;
  usage?: Usage;
  rows: Row[];
}

/** A turn without its rows: what changes of it by itself. */
export type TurnHead = Omit<Turn, "rows">;

/** How a turn ended. */
export interface TurnEnd {
  stopReason?: string;
  /** What stopped it and how to go on. */
  note?: string;
  error?: Failure;
  changed?: { uri: string; label: string; saved: boolean }[];
  /** Tools that may have changed what undo does not know. */
  untracked?: string[];
  durationMs?: number;
}

export type Row =
  | { id: string; kind: "text"; text: string }
  | { id: string; kind: "reasoning"; text: string; part?: string }
  | { id: string; kind: "steer"; text: string }
  | { id: string; kind: "mention"; server: string; uri: string; status: string; error?: string }
  | { id: string; kind: "tool"; call: ToolRow }
  | { id: string; kind: "plan"; plan: number; steps: PlanStep[] }
  | { id: string; kind: "note"; text: string };

export interface ToolRow {
  id: string;
  server?: string;
  tool: string;
  /** `step 2`, `reviewer 2`; absent: the run's own conversation. */
  part?: string;
  /** `pending`, `running`, `waiting` (for a person), or an outcome (CONTRACT §4). */
  state: string;
  /** JSON. */
  arguments?: string;
  /** The server's progress, or why it was not run. */
  message?: string;
  /** Milliseconds since the epoch. */
  startedAt?: number;
  durationMs?: number;
  /** What the model was given; absent: not loaded. */
  result?: string;
}

/** A live run of another session. */
export interface Chip {
  runId: string;
  session: string;
  title: string;
  status: string;
}

/** What stands around the conversation. */
export interface Chrome {
  /** One of ServerState. */
  server: string;
  /** Why there is none. */
  reason?: string;
  /** The model in force, for a person. */
  model?: string;
  /** Nothing but the built-in stand-in answers. */
  offline?: boolean;
  chips: Chip[];
}

/** What can take the place of a part of the input. Offsets are UTF-16 units. */
export interface Suggestion {
  label: string;
  detail?: string;
  /** For what is typed from start on. */
  filter: string;
  start: number;
  end: number;
  text: string;
  icon: "file" | "server" | "template" | "command" | "value";
  /** Ask again once it is in. */
  more: boolean;
}

export interface InputProblem {
  start: number;
  end: number;
  severity: "error" | "warning" | "info";
  message: string;
}

export interface Attachment {
  label: string;
  /** Both as LSP has them. */
  uri: string;
  range?: Range;
  version?: number;
}

export type ToPanel =
  | { type: "conversation"; session: string; title: string; turns: Turn[]; omitted?: string; loading: boolean }
  | { type: "patch"; session: string; title?: string; heads?: TurnHead[]; rows?: RowPatch[]; append?: TextPatch[] }
  | { type: "chrome"; chrome: Chrome }
  | { type: "insert"; text: string }
  | { type: "prompt"; text: string }
  | { type: "draft"; text: string }
  | { type: "mode"; mode: Mode }
  | { type: "attached"; attachment: Attachment | null }
  | { type: "focus" }
  | { type: "reveal"; turn: string }
  | { type: "refused"; text: string; why: string }
  | { type: "suggestions"; id: number; list: Suggestion[]; incomplete: boolean }
  | { type: "problems"; version: number; problems: InputProblem[] }
  /** All that are open; at: the id of the one to turn to. */
  | { type: "questions"; questions: readonly Question[]; at?: string };

export interface RowPatch {
  turn: string;
  row: Row;
}
export interface TextPatch {
  turn: string;
  row: string;
  text: string;
}

export const modes: readonly Mode[] = ["react", "plan", "team"];

/** What the buttons around the conversation do: each is a UI command or a pick of the extension's. */
export const actions = ["new", "sessions", "mode", "model", "attach", "detach", "setup", "log", "restart"] as const;
export type Action = (typeof actions)[number];

export type FromPanel =
  | { type: "ready"; session?: string; draft: string; version: number; mode: Mode; attachment?: Attachment }
  | { type: "send"; text: string; how: "ask" | "steer" }
  | { type: "cancel"; turn: string }
  | { type: "draft"; text: string; version: number }
  | { type: "complete"; id: number; text: string; version: number; offset: number; trigger?: string }
  | { type: "action"; action: Action }
  | { type: "show"; session: string }
  | { type: "open"; href: string }
  | { type: "code"; action: "copy" | "insert" | "new"; text: string; language: string }
  | { type: "retry"; turn: string }
  | { type: "undo"; turn: string }
  | { type: "results"; turn: string }
  | { type: "answer"; id: string; answer: Answer }
  | { type: "diff"; id: string };

/** UTF-16 units: of a prompt, that the server bounds by a million characters. */
export const maxText = 2_000_000;
