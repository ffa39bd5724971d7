import * as vscode from "vscode";
import type { Agentls } from "./agentls.js";
import { messageOf } from "./text.js";

/** Saves documents that the server edited, as the person's settings have it: formatting belongs to the edit (CONTRACT §6). */
export function register(a: Agentls): void {
  a.own(
    a.server.onRequest("agentls/save", async ({ uris }) => {
      const client = await a.server.ready();
      const saved: string[] = [];
      const failed: { uri: string; reason: string }[] = [];
      for (const uri of uris) {
        const reason = await saveDocument(client.protocol2CodeConverter.asUri(uri));
        if (reason === undefined) saved.push(uri);
        else failed.push({ uri, reason });
      }
      return { saved, failed };
    }),
  );
}

/** Saves one; why it was not saved, else undefined. */
export async function saveDocument(uri: vscode.Uri): Promise<string | undefined> {
  const document = vscode.workspace.textDocuments.find((d) => d.uri.toString() === uri.toString());
  if (document === undefined) return "it is not open";
  if (document.isUntitled) return "it was never saved: the person has to give it a name";
  if (!document.isDirty) return undefined;
  const before = await obstacle(uri);
  if (before !== undefined) return before;
  try {
    return (await document.save())
      ? undefined
      : "VS Code did not save it: the file on the disk may be newer, or it cannot be written";
  } catch (error) {
    return messageOf(error);
  }
}

/** What is known to be in the way: saving then would ask the person, or make again what was deleted. */
async function obstacle(uri: vscode.Uri): Promise<string | undefined> {
  if (vscode.workspace.fs.isWritableFileSystem(uri.scheme) === false) return "its file system is read-only";
  try {
    const { permissions } = await vscode.workspace.fs.stat(uri);
    return permissions === vscode.FilePermission.Readonly ? "the file is read-only" : undefined;
  } catch {
    return "the file was deleted: saving would make it again, which is the person's to decide";
  }
}
