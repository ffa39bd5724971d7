import type { FromPanel, Turn } from "../src/panel/messages.js";
import type { Drawing } from "./dom.js";

/** What the lines of the conversation are drawn with. */
export interface Surroundings {
  post(message: FromPanel): void;
  drawing: Drawing;
  /** What is unfolded, by key: kept when a line is drawn anew. */
  unfolded: Set<string>;
  /** Puts a text into the input, below what is there. */
  toInput(text: string): void;
}

/** A drawn line. */
export interface View {
  readonly element: HTMLElement;
  /** Draws what the line says by now. */
  update(turn: Turn): void;
  /** Adds to its text; only lines with a text that grows have it. */
  append?(text: string): void;
}

/** Keeps whether a `<details>` is open, by key; fill makes its content once it is first opened. */
export function folds(details: HTMLDetailsElement, key: string, on: Surroundings, fill: () => void): void {
  details.open = on.unfolded.has(key);
  if (details.open) {
    fill();
  }
  details.addEventListener("toggle", () => {
    if (details.open) {
      on.unfolded.add(key);
      fill();
    } else {
      on.unfolded.delete(key);
    }
  });
}
