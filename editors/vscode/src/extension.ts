import * as vscode from "vscode";
import { Agentls } from "./agentls.js";
import * as ask from "./ask.js";
import * as audit from "./audit.js";
import * as commands from "./commands.js";
import * as diagnostics from "./diagnostics.js";
import * as fix from "./fix.js";
import * as liveruns from "./liveruns.js";
import * as model from "./model.js";
import * as panel from "./panel/panel.js";
import * as promptbuffer from "./promptbuffer.js";
import * as questions from "./questions/questions.js";
import * as save from "./save.js";
import * as servers from "./servers/features.js";
import * as sessions from "./sessions.js";
import * as setup from "./setup.js";
import * as status from "./status.js";
import * as trust from "./trust.js";
import * as undo from "./undo.js";
import * as walkthrough from "./walkthrough.js";

/** What registers itself; one line each, sorted. */
const features = [
  ask.register,
  audit.register,
  commands.register,
  diagnostics.register,
  fix.register,
  liveruns.register,
  model.register,
  panel.register,
  promptbuffer.register,
  questions.register,
  save.register,
  servers.register,
  sessions.register,
  setup.register,
  status.register,
  trust.register,
  undo.register,
  walkthrough.register,
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
