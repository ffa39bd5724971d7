import * as vscode from "vscode";

/** What goes on behind what is inserted: a server's name, an argument's, a folder of URIs. */
const goesOn = /[:=/]$/;

/** Opens the popup again behind an item that is not the whole of what is to be written. */
export function suggestOn(
  found: vscode.CompletionItem[] | vscode.CompletionList | null | undefined,
): vscode.CompletionItem[] | vscode.CompletionList | null | undefined {
  const items = Array.isArray(found) ? found : (found?.items ?? []);
  for (const item of items) {
    const text = typeof item.insertText === "string" ? item.insertText : "";
    if (goesOn.test(text)) item.command ??= { command: "editor.action.triggerSuggest", title: "Suggest" };
  }
  return found;
}
