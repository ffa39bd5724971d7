/** Bounds how often something is started anew by itself. Without vscode. */
export class Restarts {
  #times: number[] = [];

  /** At most `most` in `window` milliseconds. */
  constructor(most: number, window: number) {
    this.#most = most;
    this.#window = window;
  }

  readonly #most: number;
  readonly #window: number;

  /** Whether one more is allowed at the time now; then it counts. */
  allows(now: number): boolean {
    this.#times = this.#times.filter((t) => now - t < this.#window);
    if (this.#times.length >= this.#most) return false;
    this.#times.push(now);
    return true;
  }

  clear(): void {
    this.#times = [];
  }
}
