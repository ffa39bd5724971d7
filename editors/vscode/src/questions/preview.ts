import * as vscode from "vscode";
import type { Preview } from "../protocol.js";
import { oneLine } from "../text.js";
import type { Question } from "./question.js";
import type { Questions } from "./questions.js";
import { patched } from "./unified.js";

const scheme = "agentls-preview";

type Side = "now" | "proposed" | "diff";

/** One preview that is open in an editor. */
interface Shown {
  preview: Preview;
  /** By side; `now` and `proposed`, or `diff` where it is not of the present text. */
  texts: Map<Side, string>;
}

/**
 * What edits would change, in the editor's own diff view: the present text beside the proposed one, both read-only.
 * A preview is closed when its question is settled.
 */
export class Previews implements vscode.TextDocumentContentProvider, vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.#changed.event;
  readonly #shown = new Map<string, Shown>();
  readonly #subscriptions: vscode.Disposable[] = [];

  constructor(private readonly questions: Questions) {}

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.#shown.get(uri.query)?.texts.get(uri.authority as Side) ?? "";
  }

  async show(question: Question, preview: Preview): Promise<void> {
    this.#listen();
    const shown: Shown = { preview, texts: await textsOf(preview) };
    if (this.questions.find(question.id)?.seq !== question.seq) return; // settled meanwhile
    this.#shown.set(question.id, shown);
    const uri = (side: Side) => uriOf(side, question.id, preview);
    if (shown.texts.has("diff")) {
      const document = await vscode.workspace.openTextDocument(uri("diff"));
      await vscode.window.showTextDocument(document, { preview: true });
    } else {
      await vscode.commands.executeCommand(
        "vscode.diff",
        uri("now"),
        uri("proposed"),
        `${oneLine(preview.path, 80)} (now ↔ proposed by agentls)`,
        { preview: true },
      );
    }
    await this.#settle(); // the question may have been, while the editor opened
  }

  dispose(): void {
    for (const d of this.#subscriptions) d.dispose();
    this.#changed.dispose();
  }

  /** Only once something is shown. */
  #listen(): void {
    if (this.#subscriptions.length > 0) return;
    this.#subscriptions.push(
      vscode.workspace.registerTextDocumentContentProvider(scheme, this),
      this.questions.onDidChange(() => void this.#settle()),
      vscode.workspace.onDidChangeTextDocument((e) => void this.#follow(e.document.uri)),
    );
  }

  /** Keeps up with a document that is edited while it is asked about. */
  async #follow(uri: vscode.Uri): Promise<void> {
    for (const [id, shown] of this.#shown) {
      if (vscode.Uri.parse(shown.preview.uri).toString() !== uri.toString() || shown.texts.has("diff")) continue;
      const texts = await textsOf(shown.preview);
      // Where the edit no longer fits, the server refuses it: what was proposed stays beside what is there now.
      shown.texts.set("now", texts.get("now") ?? (await currentText(uri)));
      shown.texts.set("proposed", texts.get("proposed") ?? shown.texts.get("proposed")!);
      for (const side of ["now", "proposed"] as const) this.#changed.fire(uriOf(side, id, shown.preview));
    }
  }

  async #settle(): Promise<void> {
    const gone = [...this.#shown.keys()].filter((id) => this.questions.find(id) === undefined);
    for (const id of gone) this.#shown.delete(id);
    const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs);
    const stale = tabs.filter((tab) => {
      const uri = previewOf(tab);
      return uri !== undefined && this.questions.find(uri.query) === undefined;
    });
    if (stale.length > 0) await vscode.window.tabGroups.close(stale, true);
  }
}

function previewOf(tab: vscode.Tab): vscode.Uri | undefined {
  const uri =
    tab.input instanceof vscode.TabInputTextDiff
      ? tab.input.modified
      : tab.input instanceof vscode.TabInputText
        ? tab.input.uri
        : undefined;
  return uri?.scheme === scheme ? uri : undefined;
}

/** Its path ends as the file's, so that the editor knows the language. */
function uriOf(side: Side, id: string, preview: Preview): vscode.Uri {
  const path = vscode.Uri.parse(preview.uri).path;
  return vscode.Uri.from({ scheme, authority: side, path: side === "diff" ? `${path}.diff` : path, query: id });
}

async function textsOf(preview: Preview): Promise<Map<Side, string>> {
  const now = await currentText(vscode.Uri.parse(preview.uri));
  const proposed = patched(now, preview.diff);
  return proposed === undefined
    ? new Map([["diff", preview.diff]])
    : new Map([
        ["now", now],
        ["proposed", proposed],
      ]);
}

/** The text as the editor has it, else as the disk has it; empty where there is no such file yet. */
async function currentText(uri: vscode.Uri): Promise<string> {
  const open = vscode.workspace.textDocuments.find((d) => d.uri.toString() === uri.toString());
  if (open !== undefined) return open.getText();
  try {
    return new TextDecoder().decode(await vscode.workspace.fs.readFile(uri));
  } catch {
    return ""; // a new file; where it cannot be read the diff does not fit, and is shown itself
  }
}
