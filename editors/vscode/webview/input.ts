import type { InputProblem } from "../src/panel/messages.js";
import { maxText } from "../src/panel/messages.js";
import { Completion } from "./completion.js";
import { draw, el } from "./dom.js";
import { History } from "./history.js";
import { icon } from "./icons.js";
import { plain } from "./markdown.js";
import type { Surroundings } from "./view.js";

/** What the input needs of the rest. */
export interface InputHost extends Pick<Surroundings, "post" | "drawing"> {
  /** Something works that a text could be added to. */
  isLive(): boolean;
  /** What was sent, the oldest first. */
  sent(): readonly string[];
  /** Sends; the input is empty by then. */
  send(text: string, how: "ask" | "steer"): void;
  cancel(): void;
  /** The focus goes to the conversation. */
  leave(): void;
  /** The draft is another one. */
  changed(): void;
}

/** The input: a text that grows, with suggestions and problems from the server. */
export class Input {
  readonly element = el("div", { class: "input" });
  readonly text = el("textarea", {
    rows: "1",
    placeholder: "Ask agentls. @ mentions a resource, / runs a command.",
    "aria-label": "Prompt",
    role: "combobox",
    "aria-autocomplete": "list",
    "aria-expanded": "false",
    "aria-controls": "suggestions",
    "aria-haspopup": "listbox",
    "aria-describedby": "problems",
    spellcheck: "false",
  });
  readonly #problems = el("ul", {
    id: "problems",
    class: "problems",
    "aria-label": "Problems of the prompt",
    hidden: "",
  });
  readonly #completion: Completion;
  readonly #history = new History();
  readonly #host: InputHost;
  #version = 0;
  #draftTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(host: InputHost) {
    this.#host = host;
    this.#completion = new Completion(this.text, host.post, (start, end, chosen) => {
      this.#replace(start, end, chosen.text);
      if (chosen.more) {
        this.#completion.ask(this.#version);
      }
    });
    this.element.append(this.#completion.element, this.text, this.#problems);
    this.text.addEventListener("input", (e) => this.#typed(e));
    this.text.addEventListener("keydown", (e) => this.#key(e));
    this.text.addEventListener("blur", () => this.#completion.close());
    this.text.addEventListener("click", () => this.#completion.changed(this.#version, undefined));
  }

  get value(): string {
    return this.text.value;
  }

  /** Puts another text in, that a person can take back by undo. */
  set(text: string): void {
    this.#replace(0, this.text.value.length, text);
  }

  /** Puts a text in at the cursor, parted from what stands there. */
  insert(text: string): void {
    const { selectionStart: start, selectionEnd: end, value } = this.text;
    const before = start > 0 && !/\s$/.test(value.slice(0, start)) ? " " : "";
    const after = /^\s/.test(value.slice(end)) ? "" : " ";
    this.#replace(start, end, before + text + after);
  }

  /** Puts a text in above what is there: it was refused, or is to be tried again. */
  restore(text: string): void {
    const rest = this.text.value;
    this.set(rest.trim() === "" || rest === text ? text : `${text}\n\n${rest}`);
  }

  focus(): void {
    this.text.focus();
  }

  /** Sends what is there. */
  submit(queue: boolean): void {
    const text = this.text.value;
    if (text.trim() === "" || text.length > maxText) {
      this.focus();
      return;
    }
    // A command is one of the session's, whatever works there: the server sees to it.
    const how = this.#host.isLive() && !queue && !text.startsWith("/") ? "steer" : "ask";
    this.#history.reset();
    this.#completion.close();
    this.set("");
    this.#host.send(text, how);
  }

  takeSuggestions(m: { id: number; list: Parameters<Completion["take"]>[1] }): void {
    this.#completion.take(m.id, m.list);
  }

  /** Shows what the server says of the text, as long as it is that text. */
  takeProblems(version: number, problems: readonly InputProblem[]): void {
    if (version !== this.#version) {
      return;
    }
    const items = problems.slice(0, 5).map((p) => {
      const tone = p.severity === "error" ? "bad" : "warn";
      return el(
        "li",
        {},
        icon(p.severity === "error" ? "error" : "warning", p.severity, tone),
        el("span", {}, ...draw(plain(p.message), this.#host.drawing)),
      );
    });
    if (problems.length > items.length) {
      items.push(el("li", {}, `${String(problems.length - items.length)} more`));
    }
    this.#problems.replaceChildren(...items);
    this.#problems.hidden = items.length === 0;
  }

  /** Takes the height of its text. */
  fit(): void {
    this.text.style.height = "auto";
    this.text.style.height = `${String(this.text.scrollHeight + 2)}px`;
  }

  #replace(start: number, end: number, text: string): void {
    const focused = document.activeElement;
    this.text.focus();
    this.text.setSelectionRange(start, end);
    // The only way that keeps what undo knows.
    // eslint-disable-next-line @typescript-eslint/no-deprecated
    if (!document.execCommand(text === "" ? "delete" : "insertText", false, text)) {
      this.text.setRangeText(text, start, end, "end");
      this.#typed(undefined);
    }
    if (focused instanceof HTMLElement && focused !== this.text) {
      focused.focus();
    }
  }

  #typed(e: InputEvent | undefined): void {
    this.#version++;
    this.fit();
    this.#problems.hidden = this.#problems.hidden || this.text.value === "";
    const one = e?.inputType === "insertText" && e.data?.length === 1 ? e.data : undefined;
    if (e?.inputType === "insertText" && one === undefined) {
      this.#completion.close(); // put in by us, or as a whole
    } else {
      this.#completion.changed(this.#version, one);
    }
    if (!e?.isComposing && one !== undefined) {
      this.#history.reset();
    }
    clearTimeout(this.#draftTimer);
    this.#draftTimer = setTimeout(
      () => this.#host.post({ type: "draft", text: this.text.value, version: this.#version }),
      150,
    );
    this.#host.changed();
  }

  #key(e: KeyboardEvent): void {
    if (e.isComposing || e.key === "Process") {
      return; // the input method's
    }
    if (this.#completion.key(e) || this.#command(e)) {
      e.preventDefault();
      e.stopPropagation();
    }
  }

  #command(e: KeyboardEvent): boolean {
    const chord = e.ctrlKey || e.metaKey;
    const isWindows = navigator.userAgent.includes("Windows");
    if ((e.key === "Escape" && chord) || (isWindows && e.key === "Backspace" && e.altKey)) {
      this.#host.cancel(); // as in VS Code's own chat; a bare Escape never cancels
      return true;
    }
    switch (e.key) {
      case "Enter":
        if (e.shiftKey || chord) {
          return false;
        }
        this.submit(e.altKey);
        return true;
      case " ":
        if (!chord) {
          return false;
        }
        this.#completion.ask(this.#version);
        return true;
      case "ArrowUp":
        if (chord) {
          this.#host.leave();
          return true;
        }
        return (
          !e.shiftKey &&
          !e.altKey &&
          !this.text.value.slice(0, this.text.selectionStart).includes("\n") &&
          this.#walk(-1)
        );
      case "ArrowDown":
        return (
          !chord &&
          !e.shiftKey &&
          !e.altKey &&
          !this.text.value.slice(this.text.selectionEnd).includes("\n") &&
          this.#walk(1)
        );
      default:
        return false;
    }
  }

  #walk(by: -1 | 1): boolean {
    const text = this.#history.step(by, this.#host.sent(), this.text.value);
    if (text === undefined) {
      return false;
    }
    this.set(text);
    return true;
  }
}
