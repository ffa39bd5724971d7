import * as vscode from "vscode";
import type { Agentls } from "../agentls.js";
import { setting } from "../settings.js";
import { label, plain } from "../text.js";
import type { Question } from "./question.js";
import { buttons, descriptionOf, title, whose } from "./words.js";

/**
 * Tells of questions while the panel is hidden, as `agentls.questions.show` has it. What it shows closes by itself
 * when the questions do: neither an error notification nor a modal dialog can be closed by an extension, so it is a
 * progress notification, which stays, or a pick that keeps the focus.
 */
export class Notice implements vscode.Disposable {
  readonly #a: Agentls;
  readonly #subscriptions: vscode.Disposable[];
  /** What was told, or seen in the panel; by id, with the number of the asking. */
  readonly #told = new Map<string, number>();
  #toast: Toast | undefined;
  #pick: vscode.QuickPick<Way> | undefined;

  constructor(a: Agentls) {
    this.#a = a;
    this.#subscriptions = [
      a.questions.onDidChange(() => this.#update()),
      a.panel.onDidChangeVisibility(() => this.#update()),
    ];
  }

  dispose(): void {
    this.#close();
    for (const d of this.#subscriptions) d.dispose();
  }

  #update(): void {
    const { open } = this.#a.questions;
    const fresh = open.filter((q) => this.#told.get(q.id) !== q.seq);
    this.#told.clear();
    for (const q of open) this.#told.set(q.id, q.seq);
    if (open.length === 0 || this.#a.panel.visible) {
      this.#close();
      return;
    }
    // What is shown already tells of the new one too: another one in its place might find no room.
    if (this.#toast !== undefined) this.#toast.update(open);
    else if (this.#pick !== undefined) this.#fill(this.#pick, open);
    else if (fresh.length > 0) this.#show(open);
  }

  #show(open: readonly Question[]): void {
    if (setting("panel.reveal") === "question" || setting("questions.show") === "panel") {
      void this.#a.panel.show({ focus: false });
    } else if (setting("questions.show") === "modal") {
      this.#ask(open);
    } else {
      this.#toast = new Toast(open, () => void this.#a.questions.review(this.#toast?.first));
    }
  }

  #close(): void {
    this.#toast?.close();
    this.#toast = undefined;
    this.#pick?.dispose();
    this.#pick = undefined;
  }

  /** Keeps the focus until it is answered or left by Escape. The first way, which Enter takes, is to look at it. */
  #ask(open: readonly Question[]): void {
    const pick = vscode.window.createQuickPick<Way>();
    pick.ignoreFocusOut = true;
    pick.onDidHide(() => {
      if (this.#pick === pick) this.#pick = undefined;
      pick.dispose();
    });
    pick.onDidAccept(() => {
      const way = pick.activeItems[0];
      pick.hide();
      way?.run();
    });
    this.#fill(pick, open);
    this.#pick = pick;
    pick.show();
  }

  #fill(pick: vscode.QuickPick<Way>, open: readonly Question[]): void {
    const q = open[0]!;
    const no = buttons(q)[0]!;
    pick.title = `agentls asks: ${label(title(q), 120)}${more(open)}`;
    pick.placeholder = label(q.reason || descriptionOf(q) || whose(q), 200);
    pick.items = [
      { label: "Review…", run: () => void this.#a.questions.review(q.id) },
      { label: no.label, run: () => void this.#a.questions.answer(q.id, no.answer) },
    ];
    pick.activeItems = [pick.items[0]!];
  }
}

interface Way extends vscode.QuickPickItem {
  run(): void;
}

function more(open: readonly Question[]): string {
  return open.length > 1 ? ` (1 of ${open.length})` : "";
}

/** A notification that stays until it is closed here, or put away by the person. */
class Toast {
  #open: readonly Question[];
  #report: (message: string) => void = () => undefined;
  #closed = false;
  #close: () => void = () => undefined;

  constructor(open: readonly Question[], review: () => void) {
    this.#open = open;
    void vscode.window.withProgress(
      {
        location: vscode.ProgressLocation.Notification,
        title: "agentls asks",
        // The workbench takes the button's words; one that does not shows “Cancel”, which is no yes either.
        cancellable: "Review…" as unknown as boolean,
      },
      (progress, token) => {
        this.#report = (message) => progress.report({ message });
        token.onCancellationRequested(review);
        this.update(this.#open);
        return new Promise<void>((resolve) => {
          this.#close = resolve;
          if (this.#closed) resolve(); // before it was shown
        });
      },
    );
  }

  /** The id of the question that it tells of. */
  get first(): string | undefined {
    return this.#open[0]?.id;
  }

  update(open: readonly Question[]): void {
    this.#open = open;
    const q = open[0];
    if (q === undefined) return;
    const deny = `command:agentls.ui.questions.deny?${encodeURIComponent(JSON.stringify([q.id]))}`;
    this.#report(`${linkless(title(q))}${more(open)} [${buttons(q)[0]!.label}](${deny})`);
  }

  close(): void {
    this.#closed = true;
    this.#close();
  }
}

/** A foreign text beside a link of ours: no bracket of it is part of one. */
function linkless(text: string): string {
  return plain(text, 200).replaceAll("[", "(").replaceAll("]", ")");
}
