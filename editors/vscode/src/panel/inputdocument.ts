import * as vscode from "vscode";
import type { Agentls } from "../agentls.js";
import { isCancelled, messageOf } from "../text.js";
import type { ToPanel } from "./messages.js";
import { positionAt, problemsOf, suggestionsOf, type Item } from "./suggestions.js";

export const inputScheme = "agentls-input";
const uri = `${inputScheme}:/input.agentls.md`;

interface Completed {
  items: Item[];
  isIncomplete?: boolean;
}

/**
 * The view's input as a document that only the server sees: a prompt buffer, so that mentions and `/` lines complete
 * in it and its problems are told as in any other.
 */
export class InputDocument implements vscode.Disposable {
  readonly #post: (m: ToPanel) => void;
  readonly #a: Agentls;
  #text = "";
  /** The page's; the server's own counts each change. */
  #version = 0;
  #changes = 0;
  #open = false;
  #completing: vscode.CancellationTokenSource | undefined;
  readonly #watch: vscode.Disposable;

  constructor(a: Agentls, post: (m: ToPanel) => void) {
    this.#a = a;
    this.#post = post;
    this.#watch = a.server.onDidChange((state) => {
      this.#open = false;
      if (state === "ready") void this.#tell();
    });
  }

  /** Another page begins with a text. */
  begin(text: string, version: number): void {
    this.#version = version;
    this.#text = text;
    void this.#tell();
  }

  change(text: string, version: number): void {
    if (version < this.#version) return; // what was asked about since is newer
    this.#version = version;
    if (text === this.#text && this.#open) return;
    this.#text = text;
    void this.#tell();
  }

  /** Asks what can stand at an offset. Only the last question is answered. */
  async complete(m: { id: number; text: string; version: number; offset: number; trigger?: string }): Promise<void> {
    this.#completing?.cancel();
    const asking = (this.#completing = new vscode.CancellationTokenSource());
    this.change(m.text, m.version);
    const isTrigger = m.trigger !== undefined && "@:/ =".includes(m.trigger);
    try {
      const list = await this.#a.server.request<Completed | null>(
        "textDocument/completion",
        {
          textDocument: { uri },
          position: positionAt(m.text, m.offset),
          context: isTrigger ? { triggerKind: 2, triggerCharacter: m.trigger } : { triggerKind: 1 },
        },
        asking.token,
      );
      if (asking.token.isCancellationRequested) return;
      const items = suggestionsOf(list?.items ?? [], m.text);
      this.#post({ type: "suggestions", id: m.id, list: items, incomplete: list?.isIncomplete === true });
    } catch (error) {
      if (!isCancelled(error)) this.#a.log.debug(`completion in the chat view: ${messageOf(error)}`);
    } finally {
      asking.dispose();
    }
  }

  /** Takes what the server says of the input. */
  diagnose(diagnostics: readonly vscode.Diagnostic[]): void {
    const found = diagnostics.map((d) => ({ range: d.range, severity: d.severity + 1, message: d.message }));
    this.#post({ type: "problems", version: this.#version, problems: problemsOf(found, this.#text) });
  }

  dispose(): void {
    this.#watch.dispose();
    this.#completing?.cancel();
  }

  async #tell(): Promise<void> {
    if (this.#a.server.state !== "ready") return;
    const client = await this.#a.server.ready();
    const text = this.#text;
    this.#changes++;
    if (this.#open) {
      const textDocument = { uri, version: this.#changes };
      await client.sendNotification("textDocument/didChange", { textDocument, contentChanges: [{ text }] });
    } else {
      this.#open = true;
      const textDocument = { uri, languageId: "agentls", version: this.#changes, text };
      await client.sendNotification("textDocument/didOpen", { textDocument });
    }
  }
}
