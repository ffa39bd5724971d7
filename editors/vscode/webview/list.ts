import { el } from "./dom.js";
import { linesOf, type Change, type Line, type State } from "./state.js";
import { viewOf } from "./line.js";
import type { Surroundings, View } from "./view.js";

/** The most lines that are in the document at once. */
export const maxLines = 300;
/** How many come in when the edge of those is reached. */
const stride = 100;

/**
 * The conversation's lines, of which only a window is in the document. It
 * follows the end until a person scrolls up.
 */
export class List {
  #lines: Line[] = [];
  #window = { from: 0, to: 0 };
  readonly #views = new Map<string, View>();
  #following = true;
  #lastTop = 0;
  readonly #scroller: HTMLElement;
  readonly #log: HTMLElement;
  readonly #omitted = el("p", { class: "row note" });
  readonly #on: Surroundings;
  readonly #onFollow: (following: boolean) => void;

  constructor(scroller: HTMLElement, log: HTMLElement, on: Surroundings, onFollow: (following: boolean) => void) {
    this.#scroller = scroller;
    this.#log = log;
    this.#on = on;
    this.#onFollow = onFollow;
    scroller.addEventListener("scroll", () => this.#scrolled(), { passive: true });
    scroller.addEventListener("wheel", (e) => e.deltaY < 0 && scroller.scrollTop > 0 && this.#follow(false), {
      passive: true,
    });
    const resized = new ResizeObserver(() => this.#stick());
    resized.observe(scroller);
    resized.observe(log); // blocks take their height only once they come into view
  }

  /** Draws what changed. */
  draw(state: State, change: Change): void {
    if (change.all) {
      this.#views.clear();
      this.#log.replaceChildren();
      this.#follow(true);
    }
    if (change.structure) {
      const atEnd = this.#window.to >= this.#lines.length;
      this.#lines = linesOf(state);
      if (change.all || (atEnd && this.#following)) {
        this.#toTail();
      } else if (atEnd) {
        // Who reads further up must not have it taken away: the window grows at its end up to its bound.
        this.#window.to = Math.min(this.#lines.length, this.#window.from + maxLines);
      }
      this.#omitted.textContent = state.omitted;
      this.#reconcile();
    }
    for (const [key, added] of change.touched) {
      const view = this.#views.get(key);
      const line = view && this.#lines.find((l) => l.key === key);
      if (!line) {
        continue;
      }
      if (added !== undefined && view.append) {
        view.append(added);
      } else if (added === undefined) {
        view.update(line.turn);
      }
    }
    this.#stick();
  }

  /** Goes to the end and follows it. */
  toEnd(): void {
    this.#follow(true);
    this.#toTail();
    this.#reconcile();
    this.#stick();
  }

  /** Shows a turn's beginning. */
  reveal(turn: string): void {
    const i = this.#lines.findIndex((l) => l.turn.id === turn);
    if (i < 0) {
      return;
    }
    if (i < this.#window.from || i >= this.#window.to) {
      this.#window.from = Math.max(0, Math.min(i, this.#lines.length - maxLines));
      this.#window.to = Math.min(this.#lines.length, this.#window.from + maxLines);
      this.#reconcile();
    }
    if (i < this.#lines.length - 5) {
      this.#follow(false);
    }
    this.#views.get(this.#lines[i]?.key ?? "")?.element.scrollIntoView({ block: "start" });
  }

  /** The lines in the document, in order: what the keyboard walks. */
  elements(): HTMLElement[] {
    return [...this.#log.children] as HTMLElement[];
  }

  #toTail(): void {
    this.#window = { from: Math.max(0, this.#lines.length - maxLines), to: this.#lines.length };
  }

  #follow(following: boolean): void {
    if (this.#following !== following) {
      this.#following = following;
      this.#onFollow(following);
    }
  }

  #stick(): void {
    if (this.#following) {
      this.#scroller.scrollTop = this.#scroller.scrollHeight;
      this.#lastTop = this.#scroller.scrollTop;
    }
  }

  #scrolled(): void {
    const { scrollTop, scrollHeight, clientHeight } = this.#scroller;
    const fromEnd = scrollHeight - scrollTop - clientHeight;
    if (this.#window.to >= this.#lines.length && fromEnd < 16) {
      this.#follow(true);
    } else if (scrollTop < this.#lastTop - 1) {
      this.#follow(false);
    }
    this.#lastTop = scrollTop;
    if (scrollTop < clientHeight && this.#window.from > 0 && !this.#following) {
      this.#move(-stride);
    } else if (fromEnd < clientHeight && this.#window.to < this.#lines.length) {
      this.#move(stride);
    }
  }

  /** Moves the window; what is in view stays where it is. */
  #move(by: number): void {
    const top = this.#scroller.getBoundingClientRect().top;
    const anchor = this.elements().find((e) => e.getBoundingClientRect().bottom > top);
    const before = anchor?.getBoundingClientRect().top ?? 0;
    if (by < 0) {
      this.#window.from = Math.max(0, this.#window.from + by);
      this.#window.to = Math.min(this.#lines.length, this.#window.from + maxLines);
    } else {
      this.#window.to = Math.min(this.#lines.length, this.#window.to + by);
      this.#window.from = Math.max(0, this.#window.to - maxLines);
    }
    this.#reconcile();
    if (anchor?.isConnected) {
      this.#scroller.scrollTop += anchor.getBoundingClientRect().top - before;
      this.#lastTop = this.#scroller.scrollTop;
    }
  }

  /** Makes the document hold the window's lines; elements that stay are not touched. */
  #reconcile(): void {
    const wanted = this.#lines.slice(this.#window.from, this.#window.to);
    const keys = new Set(wanted.map((l) => l.key));
    for (const [key, view] of this.#views) {
      if (!keys.has(key)) {
        view.element.remove();
        this.#views.delete(key);
      }
    }
    if (this.#window.from === 0 && this.#omitted.textContent !== "") {
      this.#log.prepend(this.#omitted);
    } else {
      this.#omitted.remove();
    }
    let at: Element | null = this.#omitted.isConnected ? this.#omitted.nextElementSibling : this.#log.firstElementChild;
    for (const line of wanted) {
      let view = this.#views.get(line.key);
      if (!view) {
        view = viewOf(line, this.#on);
        view.element.dataset["key"] = line.key;
        this.#views.set(line.key, view);
      }
      if (view.element === at) {
        at = at.nextElementSibling;
      } else {
        this.#log.insertBefore(view.element, at);
      }
    }
  }
}
