import * as vscode from "vscode";

export { back } from "../steps.js";

export type Row<T> = vscode.QuickPickItem & { value?: T };

/**
 * Shows a quick pick until `end` is called, and gives what it was called with; undefined: the person left. What
 * setUp returns is disposed of at the end.
 */
export async function quickPick<T, R>(
  setUp: (pick: vscode.QuickPick<Row<T>>, end: (result: R | undefined) => void) => vscode.Disposable[],
): Promise<R | undefined> {
  const pick = vscode.window.createQuickPick<Row<T>>();
  let owned: vscode.Disposable[] = [];
  try {
    return await new Promise<R | undefined>((resolve) => {
      owned = setUp(pick, resolve);
      pick.onDidHide(() => resolve(undefined));
      pick.show();
    });
  } finally {
    for (const one of owned) one.dispose();
    pick.dispose();
  }
}

export function heading<T>(text: string): Row<T> {
  return { label: text, kind: vscode.QuickPickItemKind.Separator };
}

/** Keeps the order of rows while something is typed; VS Code would sort them by their labels. */
export function unsorted(pick: vscode.QuickPick<vscode.QuickPickItem>): void {
  if ("sortByLabel" in pick) (pick as { sortByLabel: boolean }).sortByLabel = false;
}
