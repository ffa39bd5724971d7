import * as vscode from "vscode";
import type { Agentls } from "./agentls.js";
import { askRestart } from "./restart.js";
import { isSetupFailure } from "./run.js";
import { isCancelled, isServerGone, messageOf, plain } from "./text.js";

export type Need = "server" | "folder" | "run";

export interface Command {
  id: `agentls.ui.${string}`;
  needs?: readonly Need[];
  run(a: Agentls, ...args: unknown[]): unknown;
}

/** Registers the extension's commands. One that cannot run says why; one that fails says so once. */
export function registerCommands(a: Agentls, commands: readonly Command[]): void {
  for (const command of commands) {
    a.own(
      vscode.commands.registerCommand(command.id, async (...args: unknown[]) => {
        try {
          if (await isMissing(a, command.needs ?? [])) return undefined;
          return await command.run(a, ...args);
        } catch (error) {
          showFailure(a, error);
          return undefined;
        }
      }),
    );
  }
}

/** Says what is missing. */
async function isMissing(a: Agentls, needs: readonly Need[]): Promise<boolean> {
  for (const need of needs) {
    switch (need) {
      case "server":
        await a.server.ready(); // its error is a sentence
        break;
      case "folder":
        if ((vscode.workspace.workspaceFolders ?? []).length > 0) break;
        void offer("information", "Open a folder first: agentls works on the files of one.", {
          "Open Folder…": () => vscode.commands.executeCommand("workbench.action.files.openFolder"),
        });
        return true;
      case "run":
        if (a.runs.active().length > 0) break;
        void offer("information", "Nothing runs at the moment.", {});
        return true;
    }
  }
  return false;
}

/** Shows a failure with the button that helps; a cancel is none. */
export function showFailure(a: Agentls, error: unknown): void {
  if (isCancelled(error)) return;
  const message = messageOf(error);
  a.log.error(message);
  if (isServerGone(error)) return;
  if (isSetupFailure(error)) {
    void offer("error", message, { "Set Up…": () => vscode.commands.executeCommand("agentls.ui.setup") });
  } else if (a.server.state === "missing") {
    void offer("error", message, { "Open Settings": openPathSetting });
  } else if (a.server.state === "failed" || a.server.state === "stopped") {
    void offer("error", message, { "Restart Server": () => a.server.restart(), "Show Log": () => a.log.show(true) });
  } else {
    void offer("error", message, { "Show Log": () => a.log.show(true) });
  }
}

/** Opens the setting that says where the program is. */
export function openPathSetting(): Thenable<unknown> {
  return vscode.commands.executeCommand("workbench.action.openSettings", "agentls.path");
}

/** Shows a message, in which nothing becomes a link, and runs the button that was taken. That it failed is told. */
export async function offer(
  kind: "information" | "warning" | "error",
  message: string,
  buttons: Record<string, () => unknown>,
): Promise<void> {
  const show = {
    information: vscode.window.showInformationMessage,
    warning: vscode.window.showWarningMessage,
    error: vscode.window.showErrorMessage,
  }[kind];
  const taken = await show(plain(message), ...Object.keys(buttons));
  try {
    if (taken !== undefined) await buttons[taken]?.();
  } catch (error) {
    if (isCancelled(error) || isServerGone(error)) return;
    void offer("error", messageOf(error), { "Show Log": () => vscode.commands.executeCommand("agentls.ui.log") });
  }
}

export function register(a: Agentls): void {
  registerCommands(a, [
    { id: "agentls.ui.log", run: () => a.log.show() },
    { id: "agentls.ui.restart", run: () => askRestart(a, "The server is to be restarted.") },
  ]);
}
