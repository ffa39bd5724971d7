import { isAbsolute, relative, resolve } from "node:path";
import * as vscode from "vscode";
import { offer } from "../commands.js";
import { plain } from "../text.js";
import { placeOf, schemeOf } from "./linkplace.js";

/** Opens what a link of an answer leads to: the web in the browser, a file of the workspace in an editor; nothing else. */
export async function openLink(href: string, isKnown: (uri: string) => boolean): Promise<void> {
  const scheme = schemeOf(href);
  if (scheme === "http" || scheme === "https" || scheme === "mailto") {
    await vscode.env.openExternal(vscode.Uri.parse(href, true));
    return;
  }
  if (isKnown(href)) {
    await vscode.commands.executeCommand("vscode.open", vscode.Uri.parse(href, true), { preview: true });
    return;
  }
  const { path, line } = placeOf(href);
  const uri = scheme === undefined || scheme === "file" ? await fileOf(path) : undefined;
  if (uri === undefined) {
    await offer("information", `agentls opens web pages and files of this workspace, not ${plain(href, 120)}.`, {});
    return;
  }
  const selection = line === undefined ? undefined : new vscode.Range(line - 1, 0, line - 1, 0);
  await vscode.commands.executeCommand("vscode.open", uri, { preview: true, ...(selection ? { selection } : {}) });
}

/** A file that is there, in one of the workspace's folders. */
async function fileOf(path: string): Promise<vscode.Uri | undefined> {
  for (const folder of vscode.workspace.workspaceFolders ?? []) {
    const root = folder.uri.fsPath;
    const from = relative(root, resolve(root, path));
    if (from === "" || from.startsWith("..") || isAbsolute(from)) continue;
    const uri = vscode.Uri.joinPath(folder.uri, from);
    try {
      if ((await vscode.workspace.fs.stat(uri)).type & vscode.FileType.File) return uri;
    } catch {
      // not in this folder
    }
  }
  return undefined;
}
