import * as vscode from "vscode";
import type { Agentls } from "../agentls.js";
import { onAccept, quickPick, type Row, unsorted } from "../pick.js";
import type { CompleteArgument, Completion } from "../protocol.js";
import { back } from "../steps.js";
import { isCancelled, label, messageOf, oneLine } from "../text.js";

/** One value that is asked for. */
export interface Field {
  name: string;
  title?: string;
  description?: string;
  required?: boolean;
}

export interface Form {
  /** Foreign text is cleaned here. */
  title: string;
  server: string;
  of: { prompt: string } | { template: string };
  fields: readonly Field[];
  canGoBack: boolean;
}

/** How long a pause in the typing is, in milliseconds, before the server is asked for values. */
const pause = 150;

/** Asks for the values one by one, each with what the server offers for it. An optional one may be left out. */
export async function fillIn(a: Agentls, form: Form): Promise<Record<string, string> | typeof back | undefined> {
  const given: (string | undefined)[] = [];
  let at = 0;
  while (at < form.fields.length) {
    const others = Object.fromEntries(
      form.fields.flatMap(({ name }, i) =>
        i < at && given[i] !== undefined && given[i] !== "" ? [[name, given[i]]] : [],
      ),
    );
    const answer = await askValue(a, form, at, others, given[at] ?? "");
    if (answer === undefined) return undefined;
    if (answer !== back) given[at++] = answer;
    else if (at === 0) return back;
    else at--;
  }
  return Object.fromEntries(
    form.fields.flatMap(({ name }, i) => (given[i] === undefined || given[i] === "" ? [] : [[name, given[i]]])),
  );
}

async function askValue(
  a: Agentls,
  form: Form,
  at: number,
  others: Record<string, string>,
  before: string,
): Promise<string | typeof back | undefined> {
  const field = form.fields[at]!;
  const about: CompleteArgument = { ...form.of, server: form.server, argument: field.name, arguments: others };
  return await quickPick<string, string | typeof back>((pick, end) => {
    pick.title = oneLine(form.title, 100);
    pick.step = at + 1;
    pick.totalSteps = form.fields.length;
    pick.placeholder = placeholderOf(field);
    pick.ignoreFocusOut = true;
    pick.value = before;
    if (at > 0 || form.canGoBack) pick.buttons = [vscode.QuickInputButtons.Back];
    unsorted(pick);
    const values = new Values(a, about, (completion) => (pick.items = rowsOf(field, pick.value, completion)));
    const show = () => {
      pick.items = rowsOf(field, pick.value, values.last);
      pick.busy = true;
      values.ask(pick.value, () => (pick.busy = false));
    };
    show();
    return [
      new vscode.Disposable(() => values.stop()),
      pick.onDidChangeValue(show),
      pick.onDidTriggerButton(() => end(back)),
      onAccept(pick, end),
    ];
  });
}

function placeholderOf({ name, title, description, required }: Field): string {
  const words = [oneLine(title ?? "", 60) || oneLine(name, 60), oneLine(description ?? "", 150)].filter(
    (w) => w !== "",
  );
  return `${words.join(": ")} (${required === true ? "required" : "optional"})`;
}

/** What was typed stands first: Enter takes it as it is. */
function rowsOf({ required }: Field, typed: string, completion: Completion | undefined): Row<string>[] {
  const rows: Row<string>[] = [];
  if (typed !== "")
    rows.push({ label: `$(edit) ${label(typed, 200)}`, description: "as typed", value: typed, alwaysShow: true });
  else if (required !== true) rows.push({ label: "$(dash) Leave out", value: "", alwaysShow: true });
  const values = (completion?.values ?? []).filter((value) => value !== typed);
  rows.push(...values.map((value) => ({ label: label(value, 200), value, alwaysShow: true })));
  const note = completion?.error ?? (completion?.more === true ? "There are more: type a part of it." : undefined);
  if (note !== undefined) rows.push({ label: `$(info) ${label(note, 200)}`, alwaysShow: true });
  else if (rows.length === 0) rows.push({ label: "$(info) Type a value.", alwaysShow: true });
  return rows;
}

/** Asks a server for values, for the last text alone. */
class Values {
  last: Completion | undefined;
  #timer: NodeJS.Timeout | undefined;
  #asking: vscode.CancellationTokenSource | undefined;

  constructor(
    readonly agentls: Agentls,
    readonly about: CompleteArgument,
    readonly show: (completion: Completion) => void,
  ) {}

  /** Soon; the first time at once. */
  ask(value: string, settled: () => void): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#complete(value, settled), this.#asking === undefined ? 0 : pause);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#asking?.cancel();
  }

  async #complete(value: string, settled: () => void): Promise<void> {
    this.#asking?.cancel();
    const asking = (this.#asking = new vscode.CancellationTokenSource());
    let completion: Completion;
    try {
      completion = await this.agentls.server.command("agentls.mcp.complete", { ...this.about, value }, asking.token);
    } catch (error) {
      if (isCancelled(error)) return;
      completion = { values: [], more: false, error: messageOf(error) }; // a value can be typed all the same
    }
    if (asking.token.isCancellationRequested || this.#asking !== asking) return;
    this.last = completion;
    this.show(completion);
    settled();
  }
}
