import * as vscode from "vscode";

/** The settings that are the server's: a part of its configuration (CONTRACT §2). */
export const serverSettings = [
  "provider",
  "providers",
  "mcpServers",
  "approval",
  "notifications",
  "answers",
  "detached",
  "limits",
] as const;

type Inspected = ReturnType<vscode.WorkspaceConfiguration["inspect"]>;

/** Whether somebody wrote a value: a default would override the configuration files. */
function isExplicit(inspected: Inspected): boolean {
  return (
    inspected !== undefined &&
    [inspected.globalValue, inspected.workspaceValue, inspected.workspaceFolderValue].some((v) => v !== undefined)
  );
}

/** What the server gets as its section `agentls`: null is unset. */
export function explicitSettings(scope?: vscode.Uri): Record<string, unknown> {
  const configuration = vscode.workspace.getConfiguration("agentls", scope ?? null);
  return Object.fromEntries(
    serverSettings.map((key) => {
      const value: unknown = isExplicit(configuration.inspect(key)) ? configuration.get(key) : undefined;
      return [key, value ?? null];
    }),
  );
}

/** The settings that are the extension's own. */
export interface OwnSettings {
  path: string | null;
  "panel.reveal": "run" | "question" | "never";
  "questions.show": "auto" | "modal" | "panel";
}

export function setting<K extends keyof OwnSettings>(key: K): OwnSettings[K] {
  return vscode.workspace.getConfiguration("agentls", null).get<OwnSettings[K]>(key)!;
}
