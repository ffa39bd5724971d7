/** Whether a view stays at the end of a text that grows. Without vscode. */
export class Tail {
  #left = false;
  #top = 0;

  /** top: the first visible line. */
  constructor(top = 0) {
    this.#top = top;
  }

  get follows(): boolean {
    return !this.#left;
  }

  /** The view shows other lines, from top to bottom of count. A text that grows moves none of them up. */
  scrolled(top: number, bottom: number, count: number): void {
    if (bottom >= count - 1) this.#left = false;
    else if (top < this.#top) this.#left = true;
    this.#top = top;
  }

  /** A person went to the end. */
  returned(): void {
    this.#left = false;
  }
}
