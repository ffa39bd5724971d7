import type { FromPanel, Suggestion } from "../src/panel/messages.js";
import { el } from "./dom.js";
import { fitting } from "./fitting.js";
import { icon, type IconName } from "./icons.js";

const icons: Record<Suggestion["icon"], IconName> = {
  file: "file", server: "server", template: "template", command: "symbolKeyword", value: "symbolValue",
}; // prettier-ignore

/** The list of suggestions of the input: a listbox that the input controls (ARIA combobox). */
export class Completion {
  readonly element = el("ul", {
    id: "suggestions",
    role: "listbox",
    "aria-label": "Suggestions",
    class: "suggestions",
    hidden: "",
  });
  readonly #input: HTMLTextAreaElement;
  readonly #post: (m: FromPanel) => void;
  readonly #put: (start: number, end: number, chosen: Suggestion) => void;
  #answered: readonly Suggestion[] | undefined;
  #shown: Suggestion[] = [];
  #selected = 0;
  #asked = 0;
  #dismissed = false;
  /** Somebody chose a row: it stays chosen as long as it fits. */
  #chosen = false;

  constructor(
    input: HTMLTextAreaElement,
    post: (m: FromPanel) => void,
    put: (start: number, end: number, chosen: Suggestion) => void,
  ) {
    this.#input = input;
    this.#post = post;
    this.#put = put;
    this.element.addEventListener("mousedown", (e) => {
      e.preventDefault(); // the input keeps the focus
      const option = (e.target as Element).closest<HTMLElement>("[role=option]");
      if (option) {
        this.#accept(Number(option.dataset["i"]));
      }
    });
  }

  get isOpen(): boolean {
    return this.#shown.length > 0;
  }

  /** The text or the cursor is another one; trigger: what was typed. */
  changed(version: number, typed: string | undefined): void {
    const { value: text, selectionStart: cursor, selectionEnd } = this.#input;
    const line = text.slice(text.lastIndexOf("\n", cursor - 1) + 1, cursor);
    const isTrigger = typed !== undefined && "@:/ =".includes(typed) && typed !== "";
    // Only what can be a mention or a `/` line is asked about; what is one, the server knows.
    const can = cursor === selectionEnd && (line.startsWith("/") || line.includes("@"));
    if (isTrigger) {
      this.#dismissed = false;
    }
    if (!can || (typed === undefined && !this.isOpen) || this.#dismissed) {
      this.close();
      return;
    }
    this.ask(version, typed);
    if (this.#answered) {
      this.#show(fitting(this.#answered, text, cursor)); // until the answer is there
    }
  }

  /** Asks whatever stands at the cursor. */
  ask(version: number, trigger?: string): void {
    const { value: text, selectionStart: offset } = this.#input;
    this.#dismissed = false;
    this.#asked++;
    this.#post({
      type: "complete",
      id: this.#asked,
      text,
      version,
      offset,
      ...(trigger === undefined ? {} : { trigger }),
    });
  }

  /** The answer to the last question; those before it are out of date. */
  take(id: number, list: readonly Suggestion[]): void {
    if (id !== this.#asked || this.#dismissed) {
      return;
    }
    const { value: text, selectionStart: cursor } = this.#input;
    this.#answered = list;
    this.#show(fitting(list, text, cursor));
  }

  /** Handles a key while the list is open; true: it was for the list. */
  key(e: KeyboardEvent): boolean {
    if (!this.isOpen || e.isComposing || e.ctrlKey || e.metaKey || e.altKey) {
      return false;
    }
    const n = this.#shown.length;
    switch (e.key) {
      case "ArrowDown":
        this.#chosen = true;
        this.#select((this.#selected + 1) % n);
        return true;
      case "ArrowUp":
        this.#chosen = true;
        this.#select((this.#selected + n - 1) % n);
        return true;
      case "PageDown":
        this.#chosen = true;
        this.#select(Math.min(n - 1, this.#selected + 8));
        return true;
      case "PageUp":
        this.#chosen = true;
        this.#select(Math.max(0, this.#selected - 8));
        return true;
      case "Enter":
      case "Tab":
        if (e.shiftKey) {
          return false;
        }
        this.#accept(this.#selected);
        return true;
      case "Escape":
        this.#dismissed = true;
        this.close();
        return true;
      default:
        return false;
    }
  }

  close(): void {
    this.#asked++; // what is still on its way is not wanted
    this.#answered = undefined;
    this.#show([]);
  }

  #accept(i: number): void {
    const chosen = this.#shown[i];
    if (!chosen) {
      return;
    }
    const cursor = this.#input.selectionStart;
    this.close();
    this.#put(chosen.start, Math.max(chosen.end, cursor), chosen);
  }

  #show(list: Suggestion[]): void {
    const before = this.#chosen ? this.#shown[this.#selected]?.text : undefined;
    this.#chosen &&= list.some((s) => s.text === before);
    this.#shown = list;
    this.#selected = Math.max(0, list.findIndex((s) => s.text === before)); // prettier-ignore
    this.element.replaceChildren(...list.map((s, i) => this.#option(s, i)));
    this.element.hidden = list.length === 0;
    this.#input.setAttribute("aria-expanded", String(list.length > 0));
    this.#select(this.#selected);
  }

  #option(s: Suggestion, i: number): HTMLElement {
    const detail = s.detail ? el("span", { class: "detail" }, s.detail) : undefined;
    const li = el(
      "li",
      { id: `suggestion-${String(i)}`, role: "option", title: s.text },
      icon(icons[s.icon]),
      el("span", { class: "label" }, s.label),
      detail,
    );
    li.dataset["i"] = String(i);
    return li;
  }

  #select(i: number): void {
    this.element.children[this.#selected]?.setAttribute("aria-selected", "false");
    this.#selected = i;
    const option = this.element.children[i];
    if (option) {
      option.setAttribute("aria-selected", "true");
      option.scrollIntoView({ block: "nearest" });
      this.#input.setAttribute("aria-activedescendant", option.id);
    } else {
      this.#input.removeAttribute("aria-activedescendant");
    }
  }
}
