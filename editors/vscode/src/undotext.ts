/** What an undo did, in words. Without vscode. */
import type { RunInfo, UndoResult } from "./protocol.js";
import { label } from "./text.js";
import { ago, plural } from "./when.js";

/** Runs that can be undone, the newest first. */
export function undoable(runs: readonly RunInfo[]): RunInfo[] {
  return runs.filter((run) => (run.changed ?? []).length > 0).reverse();
}

/** A run as a row of a list. nameOf shortens a URI. */
export function runRow(run: RunInfo, now: number, nameOf: (uri: string) => string) {
  return {
    label: label(run.prompt, 120) || "(no prompt)",
    description: `${ago(Date.parse(run.startedAt), now)} · ${run.status}`,
    detail: label(names(run.changed ?? [], nameOf)),
    run,
  };
}

/** At most three names, and how many there are besides. */
export function names(uris: readonly string[], nameOf: (uri: string) => string): string {
  const shown = uris.slice(0, 3).map(nameOf).join(", ");
  return uris.length > 3 ? `${shown} and ${plural(uris.length - 3, "more file")}` : shown;
}

/** The result in a sentence. */
export function undoWords(result: UndoResult, nameOf: (uri: string) => string): string {
  const words: string[] = [];
  if (result.restored.length > 0) words.push(`restored ${names(result.restored, nameOf)}`);
  if (result.refused.length > 0)
    words.push(`left ${plural(result.refused.length, "file")} as it is`.replace("files as it is", "files as they are"));
  if (result.untracked.length > 0) words.push(`what ${result.untracked.join(", ")} did is not known here`);
  return words.length === 0 ? "The run changed no files." : `Undo: ${words.join("; ")}.`;
}
