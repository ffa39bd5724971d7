import * as vscode from "vscode";
import type { Agentls } from "../agentls.js";
import { registerCommands } from "../commands.js";

/** What a file begins with that is not there yet. Comments are allowed in it. */
const beginning = `{
  // Each server by its name: a program with "command", "args" and "env", or "url" for a remote one.
  "mcpServers": {
  }
}
`;

/** Opens a file in which MCP servers are configured; it is made where it is not there. */
async function configure(a: Agentls): Promise<void> {
  const rows = [];
  const mine = await userFile(a);
  if (mine !== undefined) {
    rows.push({ label: "$(account) For all folders", description: "starts without a question", uri: mine });
  }
  for (const { name, uri } of vscode.workspace.workspaceFolders ?? []) {
    const file = vscode.Uri.joinPath(uri, ".mcp.json");
    rows.push({ label: `$(folder) For ${name}`, description: "starts once you trust it · can be shared", uri: file });
  }
  const settings = {
    label: "$(settings-gear) In the settings of VS Code",
    description: "agentls.mcpServers",
    uri: undefined,
  };
  const taken = await vscode.window.showQuickPick(
    [...rows.map((row) => ({ ...row, detail: row.uri.fsPath })), settings],
    { title: "Add an MCP Server", placeHolder: "Where is it to be configured?" },
  );
  if (taken === undefined) return;
  if (taken.uri === undefined) {
    await vscode.commands.executeCommand("workbench.action.openSettings", "agentls.mcpServers");
    return;
  }
  await openOrMake(taken.uri);
}

/** `mcp.json` beside the user's configuration, of which the server knows where it is. */
async function userFile(a: Agentls): Promise<vscode.Uri | undefined> {
  const { initializeResult } = await a.server.ready();
  const experimental = initializeResult?.capabilities.experimental as { agentls?: { config?: string } } | undefined;
  const folder = experimental?.agentls?.config;
  return folder === undefined || folder === "" ? undefined : vscode.Uri.joinPath(vscode.Uri.file(folder), "mcp.json");
}

async function openOrMake(uri: vscode.Uri): Promise<void> {
  try {
    await vscode.workspace.fs.stat(uri);
  } catch {
    await vscode.workspace.fs.writeFile(uri, new TextEncoder().encode(beginning));
  }
  const document = await vscode.workspace.openTextDocument(uri);
  const editor = await vscode.window.showTextDocument(document);
  const inside = document.getText().indexOf('"mcpServers": {');
  if (inside < 0) return;
  const { line } = document.positionAt(inside);
  const end = document.lineAt(line).range.end;
  editor.selection = new vscode.Selection(end, end);
}

export function register(a: Agentls): void {
  registerCommands(a, [{ id: "agentls.ui.servers.configure", needs: ["server"], run: () => configure(a) }]);
}
