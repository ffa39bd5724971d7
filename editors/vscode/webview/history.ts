/** Walks what was sent before, as a shell does; what was being typed comes back at its end. */
export class History {
  #at: number | undefined;
  #draft = "";

  /** The text to show for a step back (-1) or forth (1); undefined: there is none. */
  step(by: -1 | 1, sent: readonly string[], current: string): string | undefined {
    if (this.#at === undefined) {
      if (by > 0 || sent.length === 0) {
        return undefined;
      }
      this.#draft = current;
      this.#at = sent.length;
    }
    const to = this.#at + by;
    if (to < 0) {
      return undefined;
    }
    if (to >= sent.length) {
      this.#at = undefined;
      return this.#draft;
    }
    this.#at = to;
    return sent[to];
  }

  /** What is typed counts from here on. */
  reset(): void {
    this.#at = undefined;
  }
}
