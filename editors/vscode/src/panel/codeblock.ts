import * as vscode from "vscode";
import { offer } from "../commands.js";
import { languageOf } from "./fence.js";

/** Does what the button of a code block says. */
export async function useCode(action: "copy" | "insert" | "new", text: string, fence: string): Promise<void> {
  switch (action) {
    case "copy":
      await vscode.env.clipboard.writeText(text);
      vscode.window.setStatusBarMessage("Copied", 2000);
      return;
    case "insert":
      await insert(text, fence);
      return;
    case "new":
      await open(text, fence);
  }
}

async function insert(text: string, fence: string): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  const done = await editor?.edit((edit) => {
    for (const selection of editor.selections) edit.replace(selection, text);
  });
  if (done === true) {
    await vscode.commands.executeCommand("workbench.action.focusActiveEditorGroup");
    return;
  }
  const why = editor === undefined ? "No text editor is active." : "The active editor cannot be written.";
  await offer("information", why, { "New File": () => open(text, fence) });
}

async function open(content: string, fence: string): Promise<void> {
  const language = languageOf(fence, await vscode.languages.getLanguages());
  const document = await vscode.workspace.openTextDocument(
    language === undefined ? { content } : { content, language },
  );
  await vscode.window.showTextDocument(document);
}
