import * as vscode from "vscode";
import type { Agentls } from "./agentls.js";
import { messageOf } from "./text.js";
import { stepsOf, type StepKey } from "./walkthroughsteps.js";

/** Ticks the walkthrough's steps off. VS Code shows it once, by itself. */
export function register(a: Agentls): void {
  const done = new Set<StepKey>();
  const tick = (key: StepKey) => {
    if (done.has(key)) return;
    done.add(key);
    void vscode.commands.executeCommand("setContext", key, true);
  };
  a.own(
    a.runs.onDidChange((run) => {
      stepsOf(run).forEach(tick);
    }),
  );
  a.own(
    a.server.onDidChange((state) => {
      if (state === "ready" && !done.has("agentls.hasModel")) void lookForModel(a, tick);
    }),
  );
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
