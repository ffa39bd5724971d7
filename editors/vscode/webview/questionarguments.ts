import { readArguments, uneditable } from "../src/questions/body.js";
import { visibleJSON } from "../src/text.js";
import { el } from "./dom.js";

/** The arguments of a call as text that a person edits; what they are as parts is drawn beside it. */
export class ArgumentsEditor {
  readonly element: HTMLElement;
  private readonly text: HTMLTextAreaElement;
  private readonly problem = el("p", { class: "problem", role: "alert" });
  private readonly toggle: HTMLButtonElement;
  private readonly area: HTMLElement;
  private readonly asked: string;

  /** readable: what shows them meanwhile. draft: what was written before; changed: tells what is written now. */
  constructor(
    args: unknown,
    private readonly readable: HTMLElement,
    draft: string | undefined,
    private readonly changed: (text: string | undefined) => void,
  ) {
    this.asked = visibleJSON(args);
    this.text = el("textarea", { spellcheck: "false", "aria-label": "The arguments, as JSON", class: "json" });
    this.text.value = draft ?? this.asked;
    this.text.rows = Math.min(16, this.text.value.split("\n").length + 1);
    this.text.addEventListener("input", () => {
      this.say();
      this.changed(this.text.value === this.asked ? undefined : this.text.value);
    });
    this.toggle = el("button", { type: "button", class: "toggle" });
    this.toggle.addEventListener("click", () => this.show(Boolean(this.area.hidden)));
    this.area = el("div", { class: "edit" }, this.text, this.problem);
    this.element = el("div", { class: "arguments" }, this.area, this.toggle);
    const refused = uneditable(args);
    if (refused !== undefined) {
      this.toggle.disabled = true;
      this.toggle.title = refused;
    }
    this.show(draft !== undefined, false);
  }

  /** The arguments as edited, undefined where they are as asked; false: they cannot be sent, and it is said why. */
  read(): Record<string, unknown> | undefined | false {
    if (this.area.hidden || this.text.value === this.asked) return undefined;
    const read = readArguments(this.text.value);
    if (typeof read !== "string") {
      this.say();
      return visibleJSON(read) === this.asked ? undefined : read;
    }
    this.say(read);
    this.text.focus();
    return false;
  }

  private show(editing: boolean, focus = true): void {
    this.area.hidden = !editing;
    this.readable.hidden = editing;
    this.toggle.textContent = editing ? "Take the Edit Back" : "Edit Arguments";
    if (!editing) {
      this.text.value = this.asked;
      this.changed(undefined);
      this.say();
    } else if (focus) {
      this.text.focus();
    }
  }

  private say(problem = ""): void {
    this.problem.textContent = problem;
    this.text.setAttribute("aria-invalid", String(problem !== ""));
  }
}
