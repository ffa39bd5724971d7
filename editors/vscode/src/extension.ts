import * as vscode from "vscode";
import { Agentls } from "./agentls.js";
import * as ask from "./ask.js";
import * as commands from "./commands.js";
import * as fix from "./fix.js";
import * as liveruns from "./liveruns.js";
import * as panel from "./panel/panel.js";
import * as promptbuffer from "./promptbuffer.js";
import * as questions from "./questions/questions.js";
import * as trust from "./trust.js";

/** What registers itself; one line each, sorted. */
const features = [
  ask.register,
  commands.register,
  fix.register,
  liveruns.register,
  panel.register,
  promptbuffer.register,
  questions.register,
  trust.register,
];

/** Starts the server without waiting for it. What the exports hold is for tests. */
export function activate(context: vscode.ExtensionContext): { agentls: Agentls } {
  const begun = performance.now();
  const agentls = new Agentls(context);
  for (const register of features) register(agentls);
  agentls.server.begin(begun);
  return { agentls };
}

export async function deactivate(): Promise<void> {
  await Agentls.current?.server.stop();
}
