import * as vscode from "vscode";
import type { Agentls } from "./agentls.js";
import { messageOf } from "./text.js";
import { stepsOf, type StepKey } from "./walkthroughsteps.js";

/**
 * Ticks the walkthrough's steps off. VS Code shows it once, by itself. A key is on for a moment only, and again when a
 * page of its own opens: VS Code looks for a change, and passes over what was on before it knew of the walkthrough.
 */
export function register(a: Agentls): void {
  const done = new Set<StepKey>();
  const tick = (key: StepKey) => {
    if (done.has(key)) return;
    done.add(key);
    void pulse(key);
  };
  a.own(
    a.runs.onDidChange((run) => {
      stepsOf(run).forEach(tick);
      if (run.status === "completed" && !done.has("agentls.hasModel")) void lookForModel(a, tick);
    }),
  );
  a.own(
    a.server.onDidChange((state) => {
      if (state !== "ready") return;
      tick("agentls.started");
      if (!done.has("agentls.hasModel")) void lookForModel(a, tick);
    }),
  );
  a.own(
    vscode.window.tabGroups.onDidChangeTabs(({ opened, changed }) => {
      if ([...opened, ...changed].some((tab) => tab.input === undefined)) done.forEach((key) => void pulse(key));
    }),
  );
}

async function pulse(key: StepKey): Promise<void> {
  await vscode.commands.executeCommand("setContext", key, true);
  await vscode.commands.executeCommand("setContext", key, undefined);
}

/** The server is ready anew also after it was given a key. */
async function lookForModel(a: Agentls, tick: (key: StepKey) => void): Promise<void> {
  try {
    const { model } = await a.server.command("agentls.model", { choices: false });
    if (model !== undefined) tick("agentls.hasModel");
  } catch (error) {
    a.log.info(messageOf(error)); // it ended meanwhile
  }
}
