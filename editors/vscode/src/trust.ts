import * as vscode from "vscode";
import type { Agentls } from "./agentls.js";
import { askRestart } from "./restart.js";

/** The server hears of trust when it starts: once it is granted it is started anew. */
export function register(a: Agentls): void {
  a.own(
    vscode.workspace.onDidGrantWorkspaceTrust(() =>
      askRestart(a, "The folder is trusted now: agentls takes that up when its server is restarted."),
    ),
  );
}
