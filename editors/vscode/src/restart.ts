import * as vscode from "vscode";
import type { Agentls } from "./agentls.js";

/**
 * Restarts the server; where runs would end with it a person is asked first.
 * @param why a sentence that says what the restart is for
 * @returns whether it was restarted
 */
export async function askRestart(a: Agentls, why: string): Promise<boolean> {
  const live = a.runs.active().length;
  if (live > 0) {
    const what = live === 1 ? "1 run is at work, and ends with it." : `${live} runs are at work, and end with it.`;
    const yes = "Restart Server";
    if ((await vscode.window.showWarningMessage(`${why} ${what}`, "Not Now", yes)) !== yes) return false;
  }
  await a.server.restart();
  return true;
}
