/** Texts for a person, and what an error says. Without vscode. */
import { requestCancelled } from "./protocol.js";

/** What went wrong, as a sentence for a person. */
export function messageOf(error: unknown): string {
  if (error instanceof Error && error.message !== "") return plain(error.message);
  if (typeof error === "string" && error !== "") return plain(error);
  return "Something went wrong, and it did not say what. The log may know more.";
}

/** Whether somebody cancelled: that is no failure. */
export function isCancelled(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return error.name === "Canceled" || (error as { code?: unknown }).code === requestCancelled;
}

/** A text that VS Code shows as it is: in messages `[x](command:…)` would be a link that runs. */
export function plain(text: string, max = 1000): string {
  return oneLine(text, max).replaceAll("](", "] (");
}

/** A request was under way when the server ended: that is told where it ended. */
export class ServerGone extends Error {
  override name = "ServerGone";

  constructor(options?: ErrorOptions) {
    super("The agentls server ended before it answered.", options);
  }
}

/** What is not seen, or changes how others are seen: agent/unseen.go. */
const unseen = /[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/gu;

/** Whether the error is a {@link ServerGone}. */
export function isServerGone(error: unknown): boolean {
  return error instanceof Error && error.name === "ServerGone";
}

/** One line of at most max characters, without those that are not seen. */
export function oneLine(text: string, max = 300): string {
  const line = text
    .slice(0, 8 * max)
    .replace(/\s+/gu, " ")
    .replace(unseen, "")
    .trim();
  const characters = Array.from(line);
  return characters.length > max ? characters.slice(0, max - 1).join("") + "…" : line;
}

/** A foreign text as a label of a list: in those `$(name)` would be an icon. */
export function label(text: string, max?: number): string {
  return oneLine(text, max).replaceAll("$(", "\\$(");
}

/** JSON of a foreign value in which nothing stays unseen. */
export function visibleJSON(value: unknown): string {
  return JSON.stringify(value, null, 2).replace(
    /[\p{Zl}\p{Zp}]|(?!\n)[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/gu,
    escaped,
  );
}

function escaped(character: string): string {
  let out = "";
  for (let i = 0; i < character.length; i++) out += "\\u" + character.charCodeAt(i).toString(16).padStart(4, "0");
  return out;
}

/** `1 tool`, `2 tools`. */
export function count(n: number, one: string, many = one + "s"): string {
  return `${n.toLocaleString("en")} ${n === 1 ? one : many}`;
}
