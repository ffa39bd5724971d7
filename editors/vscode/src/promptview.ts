import * as vscode from "vscode";
import { Tail } from "./tail.js";

/**
 * Keeps the view of a prompt buffer at the end of the answer that grows in it, where the cursor is at the end, until
 * the person scrolls up.
 */
export function follow(document: vscode.TextDocument): vscode.Disposable {
  const tails = new Map<vscode.TextEditor, Tail>();
  const tail = (editor: vscode.TextEditor) => {
    const known = tails.get(editor) ?? new Tail(editor.visibleRanges[0]?.start.line);
    tails.set(editor, known);
    return known;
  };
  const mine = (editor: vscode.TextEditor) => editor.document === document;
  for (const editor of vscode.window.visibleTextEditors.filter(mine)) tail(editor);
  return vscode.Disposable.from(
    vscode.workspace.onDidChangeTextDocument((event) => {
      if (event.document !== document) return;
      for (const editor of vscode.window.visibleTextEditors.filter(mine)) {
        if (tail(editor).follows && isAtEnd(editor)) editor.revealRange(endOf(document));
      }
    }),
    vscode.window.onDidChangeTextEditorVisibleRanges(({ textEditor, visibleRanges }) => {
      const [first, last] = [visibleRanges.at(0), visibleRanges.at(-1)];
      if (!mine(textEditor) || first === undefined || last === undefined) return;
      tail(textEditor).scrolled(first.start.line, last.end.line, document.lineCount);
    }),
    vscode.window.onDidChangeTextEditorSelection(({ textEditor, kind }) => {
      // Without a kind the text moved it.
      if (mine(textEditor) && kind !== undefined && isAtEnd(textEditor)) tail(textEditor).returned();
    }),
  );
}

function endOf(document: vscode.TextDocument): vscode.Range {
  const { end } = document.lineAt(document.lineCount - 1).range;
  return new vscode.Range(end, end);
}

/** Nothing but white space stands behind the cursor. */
function isAtEnd({ document, selection }: vscode.TextEditor): boolean {
  if (document.lineCount - selection.active.line > 5) return false;
  return document.getText(new vscode.Range(selection.active, endOf(document).end)).trim() === "";
}
