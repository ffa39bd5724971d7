/** The prompts that were asked before, the newest first. Without vscode. */

/** Where they are kept: a Memento of the extension. */
export interface Store {
  get(key: string): unknown;
  update(key: string, value: unknown): PromiseLike<void>;
}

const key = "agentls.prompts";
/** Bounds of what is kept: prompts, and UTF-16 code units of each. */
export const maxPrompts = 100;
export const maxLength = 10_000;

export class PromptHistory {
  /** What was written and not asked: given back the next time. */
  draft = "";

  constructor(readonly store: Store) {}

  list(): string[] {
    const kept: unknown = this.store.get(key);
    return Array.isArray(kept) ? kept.filter((prompt) => typeof prompt === "string") : [];
  }

  /** One that is too long to be kept is left out: half of it would be another prompt. */
  async add(prompt: string): Promise<void> {
    const text = prompt.trim();
    if (text === "" || text.length > maxLength) return;
    const others = this.list().filter((other) => other !== text);
    await this.store.update(key, [text, ...others].slice(0, maxPrompts));
  }

  async clear(): Promise<void> {
    await this.store.update(key, undefined);
  }
}
