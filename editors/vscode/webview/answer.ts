import { codeBlockOf, codeText, draw, el, type Drawing } from "./dom.js";
import { Growing } from "./growing.js";
import type { Element, Node as Tree } from "./markdown.js";

/**
 * Draws a Markdown text that grows. What is settled is never touched again; a
 * code block that is open takes only what is new of it.
 */
export class Answer {
  readonly element = el("div", { class: "markdown" });
  readonly #growing = new Growing();
  #open: { nodes: Node[]; tree: readonly Tree[] } = { nodes: [], tree: [] };

  readonly #on: Drawing;

  constructor(on: Drawing, text: string) {
    this.#on = on;
    this.append(text);
  }

  append(text: string): void {
    const { settled, open } = this.#growing.append(text);
    if (settled.length === 0 && this.#growsCode(open)) {
      return;
    }
    for (const node of this.#open.nodes) {
      (node as ChildNode).remove();
    }
    this.element.append(...draw(settled, this.#on));
    this.#open = { nodes: draw(open, this.#on), tree: open };
    this.element.append(...this.#open.nodes);
  }

  /** Adds to the open code block, if that is all that is new. */
  #growsCode(open: readonly Tree[]): boolean {
    const [before, now] = [soleCode(this.#open.tree), soleCode(open)];
    const drawn = codeBlockOf(this.#open.nodes[0]);
    if (!before || !now || before.language !== now.language || !drawn?.grow(codeText(now))) {
      return false;
    }
    this.#open.tree = open;
    return true;
  }
}

function soleCode(tree: readonly Tree[]): Element | undefined {
  const [node] = tree;
  return tree.length === 1 && typeof node === "object" && node.tag === "codeblock" ? node : undefined;
}
