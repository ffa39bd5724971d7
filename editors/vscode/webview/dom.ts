import { plain, type Element, type Node as Tree } from "./markdown.js";

/** Makes an element; a child that is a string becomes text, never markup. */
export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Record<string, string | undefined> = {},
  ...children: (Node | string | undefined)[]
): HTMLElementTagNameMap[K] {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined) {
      e.setAttribute(name, value);
    }
  }
  e.append(...children.filter((c) => c !== undefined));
  return e;
}

/** A button that only has an icon, or an icon and words. */
export function button(label: string, icon: Node | undefined, run: () => void, words = ""): HTMLButtonElement {
  const b = el("button", { type: "button", title: label, "aria-label": words === label ? undefined : label }, icon);
  b.append(words);
  b.addEventListener("click", run);
  return b;
}

/** What a drawn text can ask for. */
export interface Drawing {
  open(href: string): void;
  /** The bar of buttons of a code block; text gives the block as it is by then. */
  codeBar(language: string, text: () => string): Node;
}

/** Draws a tree of Markdown: each element is made by name, out of a list that is closed. */
export function draw(nodes: readonly Tree[], on: Drawing): Node[] {
  return nodes.map((n) => (typeof n === "string" ? document.createTextNode(n) : element(n, on)));
}

function element(n: Element, on: Drawing): Node {
  switch (n.tag) {
    case "codeblock":
      return new CodeBlock(n, on).element;
    case "a":
      return link(n, on);
    case "table": {
      // Wide tables scroll by themselves; the keyboard must reach what scrolls.
      const rows = n.children.map((r, i) => el(i === 0 ? "thead" : "tbody", {}, ...draw([r], on)));
      return el(
        "div",
        { class: "scroll", tabindex: "0", role: "group", "aria-label": "Table" },
        el("table", {}, ...rows),
      );
    }
    case "li": {
      const li = el("li", {}, ...draw(n.children, on));
      if (n.checked !== undefined) {
        li.prepend(
          el("span", { role: "img", "aria-label": n.checked ? "done" : "open", class: "task" }, n.checked ? "☑" : "☐"),
        );
      }
      return li;
    }
    case "ol":
      return el("ol", { start: String(n.start ?? 1) }, ...draw(n.children, on));
    case "mark":
      return el("mark", { title: `${n.title ?? ""}: a character that cannot be seen` }, ...draw(n.children, on));
    case "th":
    case "td":
      return el(n.tag, n.align ? { class: `align-${n.align}` } : {}, ...draw(n.children, on));
    case "p":
      return el("p", { dir: "auto" }, ...draw(n.children, on));
    default:
      return el(n.tag, {}, ...draw(n.children, on));
  }
}

// No href: the extension decides what is opened, and a webview's own links are none.
function link(n: Element, on: Drawing): Node {
  const href = n.href ?? "";
  const a = el("span", { class: "link", role: "link", tabindex: "0", title: href }, ...draw(n.children, on));
  a.addEventListener("click", () => on.open(href));
  a.addEventListener("keydown", (e) => {
    if (e.key === "Enter") {
      e.preventDefault();
      on.open(href);
    }
  });
  return a;
}

/** A drawn code block, which can grow. What cannot be seen in a text is shown by name, and copied as it is. */
export class CodeBlock {
  readonly element: HTMLElement;
  readonly #code = el("code");
  readonly #on: Drawing;
  #text = "";

  constructor(n: Element, on: Drawing) {
    this.#on = on;
    const language = n.language ?? "";
    const label = language === "" ? "Code" : `Code, ${language}`;
    const pre = el("pre", { tabindex: "0", role: "group", "aria-label": label }, this.#code);
    this.element = el(
      "div",
      { class: "code" },
      on.codeBar(language, () => this.#text),
      pre,
    );
    this.grow(codeText(n));
    drawnCode.set(this.element, this);
  }

  /** Draws what the text has beyond what is drawn; false: it is another text. */
  grow(text: string): boolean {
    if (!text.startsWith(this.#text)) {
      return false;
    }
    this.#code.append(...draw(plain(text.slice(this.#text.length)), this.#on));
    this.#text = text;
    return true;
  }
}

const drawnCode = new WeakMap<Node, CodeBlock>();

/** The code block that a node was drawn for. */
export const codeBlockOf = (node: Node | undefined): CodeBlock | undefined => node && drawnCode.get(node);

export const codeText = (e: Element): string => e.children.filter((c) => typeof c === "string").join("");
