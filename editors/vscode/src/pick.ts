import * as vscode from "vscode";
import { back } from "./steps.js";

/** A row of a quick pick that stands for a value; without one it is a heading. */
export type Row<T> = vscode.QuickPickItem & { value?: T };

export interface PickOptions<T> {
  title: string;
  placeholder: string;
  /** The rows; a list that is on its way shows as busy. One that fails throws. */
  rows: readonly Row<T>[] | Promise<readonly Row<T>[]>;
  canGoBack?: boolean;
  /** Row made of what was typed, offered below the others. */
  typed?: (text: string) => Row<T> | undefined;
  /** What a row's button stands for; undefined: nothing. The pick closes. */
  onButton?: (button: vscode.QuickInputButton, value: T) => T | undefined;
  /** The row that is active at first. */
  isActive?: (value: T) => boolean;
}

/**
 * Shows a quick pick until `end` is called, and gives what it was called with; undefined: the person left. What
 * setUp returns is disposed of at the end. fail ends it with an error.
 */
export async function quickPick<T, R>(
  setUp: (
    input: vscode.QuickPick<Row<T>>,
    end: (result: R | undefined) => void,
    fail: (error: unknown) => void,
  ) => vscode.Disposable[],
): Promise<R | undefined> {
  const input = vscode.window.createQuickPick<Row<T>>();
  let owned: vscode.Disposable[] = [];
  try {
    return await new Promise<R | undefined>((resolve, reject) => {
      owned = setUp(input, resolve, reject);
      input.onDidHide(() => resolve(undefined));
      input.show();
    });
  } finally {
    for (const one of owned) one.dispose();
    input.dispose();
  }
}

export function heading(text: string): vscode.QuickPickItem {
  return { label: text, kind: vscode.QuickPickItemKind.Separator };
}

/** Calls with the value of the row that is taken. One that stands for nothing is passed over. */
export function onAccept<T>(input: vscode.QuickPick<Row<T>>, take: (value: T) => void): vscode.Disposable {
  return input.onDidAccept(() => {
    const value = input.selectedItems[0]?.value;
    if (value !== undefined) take(value);
  });
}

/** Keeps the order of rows while something is typed; VS Code would sort them by their labels. */
export function unsorted(input: vscode.QuickPick<vscode.QuickPickItem>): void {
  if ("sortByLabel" in input) (input as { sortByLabel: boolean }).sortByLabel = false;
}

/** Lets a person pick one row: its value, back, or undefined when they left. */
export async function pick<T>(options: PickOptions<T>): Promise<T | typeof back | undefined> {
  return await quickPick<T, T | typeof back>((input, end, fail) => {
    input.title = options.title;
    input.placeholder = options.placeholder;
    input.matchOnDescription = input.matchOnDetail = input.ignoreFocusOut = true;
    if (options.canGoBack === true) input.buttons = [vscode.QuickInputButtons.Back];
    let rows: readonly Row<T>[] | undefined; // once they are there
    let closed = false;
    const show = () => {
      const text = input.value.trim();
      const extra = text === "" ? undefined : options.typed?.(text);
      input.items = extra === undefined ? (rows ?? []) : [...(rows ?? []), { ...extra, alwaysShow: true }];
    };
    input.busy = true;
    const fill = (list: readonly Row<T>[]) => {
      if (closed) return;
      rows = list;
      input.busy = false;
      show();
      const active = list.find((row) => row.value !== undefined && options.isActive?.(row.value) === true);
      if (active !== undefined && input.value === "") input.activeItems = [active];
    };
    Promise.resolve(options.rows).then(fill).catch(fail);
    return [
      new vscode.Disposable(() => (closed = true)),
      input.onDidTriggerButton(() => end(back)),
      input.onDidTriggerItemButton(({ button, item }) => {
        const value = item.value === undefined ? undefined : options.onButton?.(button, item.value);
        if (value !== undefined) end(value);
      }),
      onAccept(input, end),
      ...(options.typed === undefined ? [] : [input.onDidChangeValue(show)]),
    ];
  });
}

export interface InputOptions {
  title: string;
  prompt: string;
  placeholder?: string;
  value?: string;
  password?: boolean;
  canGoBack?: boolean;
  /** What is wrong from the start, shown until something is typed. */
  problem?: string | undefined;
  /** Why a text cannot be taken; undefined: it can. */
  check: (text: string) => string | undefined;
}

/** Lets a person type a line: the text, back, or undefined when they left. */
export async function typeLine(options: InputOptions): Promise<string | typeof back | undefined> {
  const input = vscode.window.createInputBox();
  input.title = options.title;
  input.prompt = options.prompt;
  input.placeholder = options.placeholder;
  input.value = options.value ?? "";
  input.password = options.password === true;
  input.ignoreFocusOut = true;
  input.validationMessage = options.problem;
  if (options.canGoBack === true) input.buttons = [vscode.QuickInputButtons.Back];
  try {
    return await new Promise<string | typeof back | undefined>((resolve) => {
      input.onDidTriggerButton(() => resolve(back));
      input.onDidChangeValue(() => (input.validationMessage = undefined));
      input.onDidAccept(() => {
        input.validationMessage = options.check(input.value);
        if (input.validationMessage === undefined) resolve(input.value.trim());
      });
      input.onDidHide(() => resolve(undefined));
      input.show();
    });
  } finally {
    input.dispose();
  }
}
