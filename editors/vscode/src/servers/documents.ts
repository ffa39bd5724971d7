import * as vscode from "vscode";
import type { Agentls } from "../agentls.js";
import { messageOf } from "../text.js";

const scheme = "agentls-mcp";

/** How often a document that follows something is asked for while it is seen, in milliseconds. */
const beat = 1000;

interface Page {
  text: string;
  /** Gives it anew; without it the text stays. */
  renew?: () => Promise<string>;
}

/** Read-only documents: logs, definitions and messages of MCP servers. One of a name replaces the last. */
export class Documents implements vscode.TextDocumentContentProvider, vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.#changed.event;
  readonly #pages = new Map<string, Page>();
  #timer: NodeJS.Timeout | undefined; // while one is to be renewed
  #renewing = false;

  constructor(readonly agentls: Agentls) {
    agentls.own(vscode.workspace.registerTextDocumentContentProvider(scheme, this));
    agentls.own(
      vscode.workspace.onDidCloseTextDocument(({ uri }) => {
        if (uri.scheme !== scheme) return;
        this.#pages.delete(uri.path);
        this.#tick();
      }),
    );
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.#pages.get(uri.path)?.text ?? "This is no longer known. Open it anew.";
  }

  /** Shows one. Its name tells its language. */
  async show(name: string, page: Page, options: vscode.TextDocumentShowOptions = {}): Promise<vscode.TextEditor> {
    const uri = vscode.Uri.from({ scheme, path: `/${name.replaceAll("/", "_")}` });
    this.#put(uri, page);
    const document = await vscode.workspace.openTextDocument(uri);
    return await vscode.window.showTextDocument(document, { preview: true, ...options });
  }

  dispose(): void {
    clearInterval(this.#timer);
    this.#changed.dispose();
  }

  #put(uri: vscode.Uri, page: Page): void {
    const old = this.#pages.get(uri.path);
    this.#pages.set(uri.path, page);
    this.#tick();
    if (old !== undefined && old.text !== page.text) this.#changed.fire(uri);
  }

  #tick(): void {
    const wanted = [...this.#pages.values()].some((page) => page.renew !== undefined);
    if (wanted) this.#timer ??= setInterval(() => void this.#renewVisible(), beat);
    else {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
  }

  async #renewVisible(): Promise<void> {
    if (this.#renewing) return;
    this.#renewing = true;
    try {
      for (const editor of vscode.window.visibleTextEditors) {
        const { uri } = editor.document;
        const page = uri.scheme === scheme ? this.#pages.get(uri.path) : undefined;
        if (page?.renew === undefined) continue;
        const text = await page.renew().catch((error: unknown) => messageOf(error) + "\n");
        if (this.#pages.get(uri.path) === page && text !== page.text) this.#follow(editor, { ...page, text });
      }
    } finally {
      this.#renewing = false;
    }
  }

  /** Shows the new text, and its end where the old one's was seen. */
  #follow(editor: vscode.TextEditor, page: Page): void {
    const { document } = editor;
    const atEnd = editor.visibleRanges.some((range) => range.end.line >= document.lineCount - 1);
    if (atEnd) {
      const listener = vscode.workspace.onDidChangeTextDocument((event) => {
        if (event.document !== document) return;
        listener.dispose();
        const end = new vscode.Position(document.lineCount - 1, 0);
        editor.revealRange(new vscode.Range(end, end));
      });
    }
    this.#put(document.uri, page);
  }
}
