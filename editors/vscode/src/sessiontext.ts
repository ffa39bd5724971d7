/** Sessions as a person reads them: rows of a list, and a text to read. Without vscode. */
import type { SessionInfo, SessionMessage, SessionText } from "./protocol.js";
import { isLive } from "./runs.js";
import { label, oneLine } from "./text.js";
import { ago, era, localDate, localTime, plural } from "./when.js";

export interface SessionRow {
  session: SessionInfo;
  label: string;
  description: string;
  /** The folder, where there are several. */
  detail?: string;
}

export interface SessionGroup {
  heading: string;
  rows: SessionRow[];
}

/** Sessions under headings: what runs first, then the newest. folderName gives a folder's name to show; none: it is not shown. */
export function groups(
  list: readonly SessionInfo[],
  now: number,
  folderName?: (folder: string) => string,
): SessionGroup[] {
  const all: SessionGroup[] = [];
  const live = list.filter(isLive);
  const rest = list.filter((s) => !isLive(s));
  for (const session of [...live, ...rest]) {
    const heading = isLive(session) ? "Running" : era(Date.parse(session.updatedAt), now);
    let group = all.find((g) => g.heading === heading);
    if (group === undefined) {
      group = { heading, rows: [] };
      all.push(group);
    }
    group.rows.push(row(session, now, folderName));
  }
  return all;
}

function row(session: SessionInfo, now: number, folderName?: (folder: string) => string): SessionRow {
  const words = [ago(Date.parse(session.updatedAt), now), plural(session.turns, "turn")];
  if (session.status !== undefined && session.status !== "completed") words.push(session.status);
  const icon = isLive(session) ? "$(sync~spin) " : "";
  const made: SessionRow = { session, label: icon + label(titleOf(session)), description: words.join(" · ") };
  if (folderName !== undefined) made.detail = `$(folder) ${label(folderName(session.folder))}`;
  return made;
}

export function titleOf(session: SessionInfo): string {
  return oneLine(session.title, 120) || "(nothing was asked)";
}

/** A name for a document with the session's text. */
export function fileName(session: SessionInfo): string {
  const words = titleOf(session)
    .replace(/[^\p{L}\p{N}._-]+/gu, " ")
    .trim();
  return `${Array.from(words).slice(0, 50).join("").trim() || "session"}.md`;
}

/** A session as Markdown, to be read. */
export function markdown(session: SessionText): string {
  const began = Date.parse(session.createdAt);
  const parts = [
    `# ${harmless(titleOf(session))}`,
    `Session \`${session.session}\`, begun ${localDate(began)} ${localTime(began)}, ${plural(session.turns, "turn")}.`,
  ];
  if (session.note !== undefined && session.note !== "") parts.push(`*${harmless(session.note)}*`);
  for (const message of session.messages) parts.push(...paragraphs(message));
  return parts.join("\n\n") + "\n";
}

function paragraphs(message: SessionMessage): string[] {
  switch (message.role) {
    case "user":
      return ["## You", harmless(message.text), ...images(message)];
    case "tool":
      return [fenced(message.text), ...images(message)];
    case "system":
      return ["## Instructions", harmless(message.text)];
    case "assistant":
      return turn(message);
  }
}

function turn(message: SessionMessage): string[] {
  const parts = message.text === "" ? [] : ["## Agent", harmless(message.text)];
  for (const call of message.toolCalls ?? []) {
    parts.push(`### Called ${harmless(oneLine(call.name))}`, fenced(argumentsOf(call.arguments), "json"));
  }
  return parts;
}

function images(message: SessionMessage): string[] {
  return message.images === undefined || message.images === 0 ? [] : [`*(${plural(message.images, "image")})*`];
}

/** Arguments go over the wire as JSON or as a text that holds it. */
function argumentsOf(value: unknown): string {
  let read = value;
  if (typeof value === "string") {
    try {
      read = JSON.parse(value);
    } catch {
      return value;
    }
  }
  return read === undefined ? "" : JSON.stringify(read, undefined, 2);
}

/** A fence longer than any in the text, so that the text cannot leave it. */
function fenced(text: string, language = ""): string {
  const longest = Math.max(2, ...Array.from(text.matchAll(/`+/gu), (m) => m[0].length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text}\n${fence}`;
}

/** Text of others, so that a preview of it loads nothing. */
function harmless(text: string): string {
  return text
    .replaceAll("![", "!\\[")
    .replace(
      /<(?=\/?(?:audio|base|embed|iframe|image|img|input|link|meta|object|picture|source|style|svg|track|video)\b)/giu,
      "\\<",
    );
}
