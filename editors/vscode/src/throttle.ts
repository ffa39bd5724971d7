/**
 * Collects keys and tells of them at most once in each pause: the first at once, the rest together when the pause is over. Without vscode.
 */
export class Throttle<K> {
  readonly #pause: number;
  readonly #tell: (keys: K[]) => void;
  #waiting = new Set<K>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** pause in milliseconds. */
  constructor(pause: number, tell: (keys: K[]) => void) {
    this.#pause = pause;
    this.#tell = tell;
  }

  add(keys: Iterable<K>): void {
    for (const key of keys) this.#waiting.add(key);
    if (this.#timer === undefined && this.#waiting.size > 0) this.#flush();
  }

  #flush(): void {
    const keys = [...this.#waiting];
    this.#waiting = new Set();
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      if (this.#waiting.size > 0) this.#flush();
    }, this.#pause);
    this.#tell(keys);
  }

  dispose(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#waiting.clear();
  }
}
