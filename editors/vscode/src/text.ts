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

/** One line of at most max characters. */
export function oneLine(text: string, max = 300): string {
  const line = text
    .slice(0, 8 * max)
    .replace(/\s+/gu, " ")
    .trim();
  const characters = Array.from(line);
  return characters.length > max ? characters.slice(0, max - 1).join("") + "…" : line;
}

/** A foreign text as a label of a list: in those `$(name)` would be an icon. */
export function label(text: string, max?: number): string {
  return oneLine(text, max).replaceAll("$(", "\\$(");
}
