/** The input as LSP sees it: positions, completion items and diagnostics. Without vscode. */
import type { Position, Range } from "../protocol.js";
import type { InputProblem, Suggestion } from "./messages.js";

export interface Item {
  label: string;
  kind?: number;
  detail?: string;
  labelDetails?: { description?: string };
  filterText?: string;
  textEdit?: { range: Range; newText: string };
}

/** The position of a UTF-16 offset; the page's lines end in \n. */
export function positionAt(text: string, offset: number): Position {
  const before = text.slice(0, offset);
  const start = before.lastIndexOf("\n") + 1;
  return { line: before.split("\n").length - 1, character: before.length - start };
}

export function offsetAt(text: string, { line, character }: Position): number {
  let start = 0;
  for (let n = 0; n < line; n++) {
    const end = text.indexOf("\n", start);
    if (end < 0) return text.length;
    start = end + 1;
  }
  const end = text.indexOf("\n", start);
  return Math.min(start + character, end < 0 ? text.length : end);
}

/** LSP's CompletionItemKind, as the server uses it. */
const icons: Record<number, Suggestion["icon"]> = { 8: "template", 9: "server", 14: "command", 17: "file" };

/** What can take the place of a part of the text; items without an edit are none. */
export function suggestionsOf(items: readonly Item[], text: string): Suggestion[] {
  return items.flatMap((item) => {
    const { textEdit: edit } = item;
    if (edit === undefined) return [];
    const detail = [item.labelDetails?.description, item.detail].filter(Boolean).join(" · ");
    const suggestion: Suggestion = {
      label: item.label,
      filter: item.filterText ?? edit.newText,
      start: offsetAt(text, edit.range.start),
      end: offsetAt(text, edit.range.end),
      text: edit.newText,
      icon: icons[item.kind ?? 0] ?? "value",
      more: /[:/=]$/.test(edit.newText) || item.kind === 9,
    };
    return detail === "" ? [suggestion] : [{ ...suggestion, detail }];
  });
}

export interface Diagnostic {
  range: Range;
  severity?: number;
  message: string;
}

export function problemsOf(diagnostics: readonly Diagnostic[], text: string): InputProblem[] {
  return diagnostics.map((d) => ({
    start: offsetAt(text, d.range.start),
    end: offsetAt(text, d.range.end),
    severity: d.severity === 1 ? "error" : d.severity === 2 ? "warning" : "info",
    message: d.message,
  }));
}
