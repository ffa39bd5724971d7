import * as vscode from "vscode";
import type { Agentls } from "./agentls.js";
import { offer, registerCommands } from "./commands.js";
import type { RunInfo, RunStatus } from "./protocol.js";
import { isLive } from "./runs.js";
import { label, plain } from "./text.js";

/** Those that live, the newest first. */
async function liveRuns(a: Agentls): Promise<RunInfo[]> {
  const all = await a.server.command("agentls.runs", {});
  return all.filter(isLive).toReversed();
}

const words: Partial<Record<RunStatus, string>> = { queued: "queued", running: "running", waiting: "waits for you" };

function rowOf(run: RunInfo) {
  const mode = run.mode === "react" ? "" : ` · ${run.mode}`;
  return { label: label(run.prompt, 120), description: `${words[run.status] ?? run.status}${mode}`, run };
}

const nothing = "Nothing runs at the moment.";

/**
 * Cancels the run that answers in a prompt buffer (its title's button), the only one, or those that the person picks.
 */
async function cancel(a: Agentls, uri: unknown): Promise<void> {
  if (uri instanceof vscode.Uri && a.answering.cancel(uri)) return;
  const runs = await liveRuns(a);
  const [first, ...others] = runs;
  if (first === undefined) {
    void offer("information", nothing, {});
    return;
  }
  let runId: string | undefined = first.runId;
  if (others.length > 0) {
    const rows = [{ label: `$(debug-stop) All ${runs.length} runs`, run: undefined }, ...runs.map(rowOf)];
    const picked = await vscode.window.showQuickPick(rows, { title: "Cancel Run", placeHolder: "Which one?" });
    if (picked === undefined) return;
    runId = picked.run?.runId;
  }
  const { cancelled } = await a.server.command("agentls.cancel", runId === undefined ? {} : { runId });
  if (cancelled.length === 0) void offer("information", "It had ended already.", {});
}

/** Adds to what a run was told; its model reads that at its next turn. */
async function steer(a: Agentls): Promise<void> {
  const runs = await liveRuns(a);
  let run = runs[0];
  if (run === undefined) {
    void offer("information", nothing, {});
    return;
  }
  if (runs.length > 1) {
    run = (await vscode.window.showQuickPick(runs.map(rowOf), { title: "Steer Run", placeHolder: "Which one?" }))?.run;
    if (run === undefined) return;
  }
  const text = await vscode.window.showInputBox({
    title: "Steer Run",
    prompt: plain(run.prompt, 120),
    placeHolder: "What should it know or do differently?",
    ignoreFocusOut: true,
    validateInput: (value) => (value.trim() === "" ? "Write what it should know, or press Escape." : undefined),
  });
  if (text === undefined) return;
  const { accepted, reason } = await a.server.command("agentls.steer", { runId: run.runId, text });
  if (accepted) {
    vscode.window.setStatusBarMessage("$(compass) The run reads it at its next turn.", 5000);
    return;
  }
  const { session } = run;
  void offer("information", plain(`It was not taken: ${reason ?? "the run has ended"}.`), {
    "Put Into Chat": () => a.panel.show({ session, prompt: text, focus: true }),
  });
}

export function register(a: Agentls): void {
  registerCommands(a, [
    { id: "agentls.ui.cancel", needs: ["server"], run: (_a, uri) => cancel(a, uri) },
    { id: "agentls.ui.steer", needs: ["server", "run"], run: () => steer(a) },
  ]);
}
