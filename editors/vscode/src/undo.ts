import * as vscode from "vscode";
import type { Agentls } from "./agentls.js";
import { offer, registerCommands, showFailure } from "./commands.js";
import { heading, pick, type Row } from "./pick.js";
import type { UndoResult } from "./protocol.js";
import { isLive, type Run } from "./runs.js";
import { back } from "./steps.js";
import { label, plain } from "./text.js";
import { names, runRow, undoable, undoWords } from "./undotext.js";

const title = "agentls: undo the changes of a run";

/** Undoes a run that changed files: the one that is named, else one that is picked. */
async function undo(a: Agentls, given: unknown): Promise<void> {
  const runId = typeof given === "string" ? given : await pickRun(a);
  if (runId === undefined) return;
  const result = await a.server.command("agentls.undo", { runId });
  const words = plain(undoWords(result, nameOf));
  if (result.refused.length === 0 && result.untracked.length === 0) {
    void offer("information", words, {});
    return;
  }
  void offer("error", words, { "Show Files": () => showFiles(a, result) });
}

async function pickRun(a: Agentls): Promise<string | undefined> {
  const runs = undoable(await a.server.command("agentls.runs", {}));
  if (runs.length === 0) {
    void offer(
      "information",
      "No run of this window changed files, or all of it was undone. The audit log names the runs of before.",
      {
        "Show Audit Log": () => vscode.commands.executeCommand("agentls.ui.audit"),
      },
    );
    return undefined;
  }
  const now = Date.now();
  const rows = runs.map((run) => ({ ...runRow(run, now, nameOf), value: run.runId }));
  const picked = await pick<string>({
    title,
    placeholder: "Files that were changed since by something else are left as they are.",
    rows,
  });
  return picked === back ? undefined : picked;
}

/** What became of each file; one that is picked is opened. */
async function showFiles(a: Agentls, result: UndoResult): Promise<void> {
  const rows: Row<string>[] = [];
  if (result.refused.length > 0) rows.push(heading("Left as they are"));
  for (const { uri, reason } of result.refused)
    rows.push({ label: `$(warning) ${label(nameOf(uri))}`, detail: label(plain(reason)), value: uri });
  if (result.restored.length > 0) rows.push(heading("Restored"));
  for (const uri of result.restored) rows.push({ label: `$(check) ${label(nameOf(uri))}`, value: uri });
  if (result.untracked.length > 0) rows.push(heading("What these did is not known, and not undone"));
  for (const tool of result.untracked) rows.push({ label: `$(question) ${label(tool)}`, value: "" });
  const uri = await pick<string>({ title, placeholder: "Pick a file to open it", rows });
  if (typeof uri !== "string" || uri === "") return;
  try {
    await vscode.window.showTextDocument(vscode.Uri.parse(uri));
  } catch {
    showFailure(a, new Error(`${nameOf(uri)} cannot be opened: the undo removed it, or something else did.`));
  }
}

/** A file's name as a person knows it. */
function nameOf(uri: string): string {
  return vscode.workspace.asRelativePath(vscode.Uri.parse(uri));
}

/** Offers the undo when a run ends that changed files. The chat view has it beside the run. */
function offerUndo(a: Agentls): { dispose(): void } {
  const told = new Set<string>();
  return a.runs.onDidChange((run: Run) => {
    if (isLive(run) || told.has(run.id) || (run.changed ?? []).length === 0) return;
    told.add(run.id);
    if (a.panel.visible) return;
    const files = names(
      (run.changed ?? []).map((file) => file.uri),
      nameOf,
    );
    void offer("information", plain(`The run changed ${files}.`), {
      Undo: () => vscode.commands.executeCommand("agentls.ui.undo", run.id),
    });
  });
}

export function register(a: Agentls): void {
  registerCommands(a, [{ id: "agentls.ui.undo", needs: ["server"], run: (_, runId) => undo(a, runId) }]);
  a.own(offerUndo(a));
}
