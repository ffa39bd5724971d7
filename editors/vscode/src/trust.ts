import * as vscode from "vscode";
import type { Agentls } from "./agentls.js";
import { offer } from "./commands.js";

/** The server hears of trust when it starts: once it is granted it is started anew. */
export function register(a: Agentls): void {
  a.own(
    vscode.workspace.onDidGrantWorkspaceTrust(() => {
      if (a.runs.active().length === 0) {
        void a.server.restart();
        return;
      }
      void offer(
        "information",
        "The folder is trusted. agentls takes that up when its server is restarted; what runs would end.",
        {
          "Restart Server": () => a.server.restart(),
        },
      );
    }),
  );
}
