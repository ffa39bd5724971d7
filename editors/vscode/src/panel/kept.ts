import type * as vscode from "vscode";

const key = "agentls.chat";

/** The most of a draft that is kept, in UTF-16 units: a longer one lives as long as its page. */
const maxDraft = 200_000;

/**
 * What the chat view knows again after the window was reloaded. VS Code keeps a page's own state too, but writes it
 * down only now and then, and at the end of a window that ends in order.
 */
export class Kept {
  readonly #store: vscode.Memento;
  #state: { session?: string; draft?: string };

  constructor(store: vscode.Memento) {
    this.#store = store;
    const { session, draft } = store.get<Record<string, unknown>>(key) ?? {};
    this.#state = {
      ...(typeof session === "string" ? { session } : {}),
      ...(typeof draft === "string" ? { draft } : {}),
    };
  }

  get session(): string | undefined {
    return this.#state.session;
  }

  get draft(): string | undefined {
    return this.#state.draft;
  }

  keep(news: { session?: string; draft?: string }): void {
    if (Object.entries(news).every(([name, value]) => this.#state[name as "draft"] === value)) return;
    this.#state = { ...this.#state, ...news };
    const { draft = "" } = this.#state;
    void this.#store.update(key, draft.length > maxDraft ? { ...this.#state, draft: "" } : this.#state);
  }
}
