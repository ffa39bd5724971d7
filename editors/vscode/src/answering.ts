import * as vscode from "vscode";

export interface Answer {
  /** Cancelled by {@link Answering.cancel}. */
  token: vscode.CancellationToken;
  dispose(): void;
}

/** The prompt buffers that are being answered, and what cancels that. */
export class Answering {
  readonly #sources = new Map<string, Set<vscode.CancellationTokenSource>>(); // by URI

  /** An answer to a buffer, until it is disposed of. */
  begin(uri: vscode.Uri): Answer {
    const source = new vscode.CancellationTokenSource();
    const key = uri.toString();
    this.#sources.set(key, (this.#sources.get(key) ?? new Set()).add(source));
    this.#show();
    const dispose = () => {
      for (const [name, sources] of this.#sources) {
        if (sources.delete(source) && sources.size === 0) this.#sources.delete(name);
      }
      source.dispose();
      this.#show();
    };
    return { token: source.token, dispose };
  }

  /** A buffer that is renamed, or whose folder is, is the same one. */
  rename(from: vscode.Uri, to: vscode.Uri): void {
    const old = from.toString();
    for (const [name, sources] of [...this.#sources]) {
      if (name !== old && !name.startsWith(`${old}/`)) continue;
      this.#sources.delete(name);
      this.#sources.set(to.toString() + name.slice(old.length), sources);
    }
    this.#show();
  }

  /** Cancels what answers in a buffer; false: nothing does. */
  cancel(uri: vscode.Uri): boolean {
    const sources = this.#sources.get(uri.toString());
    for (const source of sources ?? []) source.cancel();
    return sources !== undefined;
  }

  /**
   * The context key `agentls.answering` lists their paths, for `resourcePath in agentls.answering`: by its URI a
   * resource of a remote window is another one there than here, and its path has the separators of that machine.
   */
  #show(): void {
    const paths = [...this.#sources.keys()].map((name) => vscode.Uri.parse(name).path);
    const spelled = paths.flatMap((path) => [path, path.replaceAll("/", "\\"), vscode.Uri.file(path).fsPath]);
    void vscode.commands.executeCommand("setContext", "agentls.answering", spelled);
  }
}
