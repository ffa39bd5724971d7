/** What the webview says, checked before it is believed. Without vscode. */
import { readAnswer } from "../questions/answer.js";
import { actions, maxText, modes, type Attachment, type FromPanel } from "./messages.js";

type Check = (value: unknown) => boolean;

const text =
  (max: number): Check =>
  (v) =>
    typeof v === "string" && v.length <= max;
const id = text(200);
const count: Check = (v) => typeof v === "number" && Number.isSafeInteger(v) && v >= 0;
const oneOf =
  (all: readonly string[]): Check =>
  (v) =>
    typeof v === "string" && all.includes(v);
const optional =
  (check: Check): Check =>
  (v) =>
    v === undefined || check(v);
const fields =
  (all: Record<string, Check>): Check =>
  (v) =>
    typeof v === "object" &&
    v !== null &&
    Object.entries(all).every(([name, check]) => check((v as Record<string, unknown>)[name]));

const position = fields({ line: count, character: count });
const attachment: Check = fields({
  label: text(300),
  uri: text(4096),
  range: optional(fields({ start: position, end: position })),
  version: optional(count),
} satisfies Record<keyof Attachment, Check>);

type Fields<M> = Record<Exclude<keyof M, "type">, Check>;

/** One check for each field of each message: the compiler holds that none is missing. */
const messages: { [T in FromPanel["type"]]: Fields<Extract<FromPanel, { type: T }>> } = {
  action: { action: oneOf(actions) },
  answer: { id, answer: (v) => readAnswer(v) !== undefined },
  cancel: { turn: id },
  code: { action: oneOf(["copy", "insert", "new"]), text: text(8 << 20), language: text(100) },
  complete: { id: count, text: text(maxText), version: count, offset: count, trigger: optional(text(2)) },
  diff: { id },
  draft: { text: text(maxText), version: count },
  open: { href: text(4096) },
  ready: {
    session: optional(id),
    draft: text(maxText),
    version: count,
    mode: oneOf(modes),
    attachment: optional(attachment),
  },
  results: { turn: id },
  retry: { turn: id },
  send: { text: text(maxText), how: oneOf(["ask", "steer"]) },
  show: { session: id },
  undo: { turn: id },
};

/** The message, if it is one. */
export function fromPanel(value: unknown): FromPanel | undefined {
  const type = typeof value === "object" && value !== null ? (value as { type?: unknown }).type : undefined;
  const known =
    typeof type === "string" && Object.hasOwn(messages, type) ? messages[type as FromPanel["type"]] : undefined;
  return known && fields(known)(value) ? (value as FromPanel) : undefined;
}
