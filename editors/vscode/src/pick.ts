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

/** Lets a person pick one row: its value, back, or undefined when they left. */
export async function pick<T>(options: PickOptions<T>): Promise<T | typeof back | undefined> {
  const input = vscode.window.createQuickPick<Row<T>>();
  input.title = options.title;
  input.placeholder = options.placeholder;
  input.matchOnDescription = input.matchOnDetail = input.ignoreFocusOut = true;
  if (options.canGoBack === true) input.buttons = [vscode.QuickInputButtons.Back];
  let closed = false;
  const answer = new Promise<T | typeof back | undefined>((resolve) => {
    input.onDidTriggerButton((button) => {
      if (button === vscode.QuickInputButtons.Back) resolve(back);
    });
    input.onDidTriggerItemButton(({ button, item }) => {
      const value = item.value === undefined ? undefined : options.onButton?.(button, item.value);
      if (value !== undefined) resolve(value);
    });
    input.onDidAccept(() => {
      const value = input.selectedItems[0]?.value;
      if (value !== undefined) resolve(value);
    });
    input.onDidHide(() => {
      closed = true;
      resolve(undefined);
    });
  });
  const filled = fill(input, options, () => closed);
  try {
    return await Promise.race([answer, filled.then(() => answer)]); // a list that fails ends it
  } finally {
    closed = true;
    input.dispose();
  }
}

async function fill<T>(
  input: vscode.QuickPick<Row<T>>,
  options: PickOptions<T>,
  isClosed: () => boolean,
): Promise<void> {
  input.busy = true;
  input.show();
  const rows = await options.rows;
  if (isClosed()) return;
  input.busy = false;
  const show = (text: string) => {
    const extra = text.trim() === "" ? undefined : options.typed?.(text.trim());
    input.items = extra === undefined ? rows : [...rows, { ...extra, alwaysShow: true }];
  };
  show(input.value);
  const active = rows.find((row) => row.value !== undefined && options.isActive?.(row.value) === true);
  if (active !== undefined && input.value === "") input.activeItems = [active];
  if (options.typed !== undefined) input.onDidChangeValue(show);
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
