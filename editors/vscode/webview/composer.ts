import type { Attachment, FromPanel } from "../src/panel/messages.js";
import type { Mode } from "../src/protocol.js";
import { button, el } from "./dom.js";
import { icon } from "./icons.js";
import { Input, type InputHost } from "./input.js";

const modeNames: Record<Mode, string> = { react: "Ask", plan: "Plan", team: "Team" };

/** The foot of the view: the input and what stands around it. */
export class Composer {
  readonly element = el("form", { class: "composer", "aria-label": "Prompt" });
  readonly input: Input;
  readonly #notice = el("p", { class: "notice", role: "status", hidden: "" });
  readonly #attached = el("div", { class: "attached", hidden: "" });
  readonly #hint = el("p", { class: "hint", hidden: "" });
  readonly #mode: HTMLButtonElement;
  readonly #model: HTMLButtonElement;
  readonly #send: HTMLButtonElement;
  readonly #queue: HTMLButtonElement;
  readonly #stop: HTMLButtonElement;
  readonly #post: (m: FromPanel) => void;

  constructor(host: InputHost) {
    this.#post = host.post;
    this.input = new Input(host);
    const act = (action: "attach" | "mode" | "model") => () => this.#post({ type: "action", action });
    const attach = button(
      "Attach context: the selection, the file, a resource, a prompt",
      icon("attach"),
      act("attach"),
    );
    this.#mode = button("Mode", undefined, act("mode"));
    this.#model = button("Model", undefined, act("model"));
    this.#mode.classList.add("pick");
    this.#model.classList.add("pick");
    this.#send = button("Send (Enter)", icon("send"), () => this.input.submit(false));
    this.#queue = button("Send as the next prompt (Alt+Enter)", icon("add"), () => this.input.submit(true), "Queue");
    this.#stop = button("Cancel the run (Ctrl+Escape)", icon("stop"), () => host.cancel());
    const bar = el(
      "div",
      { class: "bar", role: "toolbar", "aria-label": "Prompt" },
      attach,
      this.#mode,
      this.#model,
      el("span", { class: "spring" }),
      this.#stop,
      this.#queue,
      this.#send,
    );
    this.element.append(this.#notice, el("div", { class: "box" }, this.#attached, this.input.element, bar), this.#hint);
    this.element.addEventListener("submit", (e) => e.preventDefault());
    this.showMode("react");
    this.showModel(undefined);
    this.showLive(false);
  }

  /** Says something about the input that stays until the next is sent; "": nothing. */
  say(text: string): void {
    this.#notice.hidden = text === "";
    this.#notice.textContent = text;
  }

  showMode(mode: Mode): void {
    pick(this.#mode, modeNames[mode], `Mode: ${modeNames[mode]}`);
  }

  showModel(model: string | undefined): void {
    pick(this.#model, model ?? "Model", model === undefined ? "Pick a model" : `Model: ${model}`);
  }

  showAttachment(attachment: Attachment | undefined): void {
    this.#attached.hidden = attachment === undefined;
    this.#attached.replaceChildren();
    if (attachment) {
      const label = `Remove ${attachment.label}`;
      const drop = button(label, icon("close"), () => this.#post({ type: "action", action: "detach" }));
      this.#attached.append(el("span", { class: "tag" }, icon("file"), attachment.label, drop));
    }
  }

  /** What sending means: while a run works, Enter adds to it. */
  showLive(live: boolean): void {
    this.#stop.hidden = !live;
    this.#queue.hidden = !live;
    this.#hint.hidden = !live;
    this.#hint.textContent = live
      ? "Enter adds to the run that works. Alt+Enter sends a prompt of its own after it."
      : "";
    const label = live ? "Add to the run (Enter)" : "Send (Enter)";
    this.#send.title = label;
    this.#send.setAttribute("aria-label", label);
  }
}

function pick(b: HTMLButtonElement, words: string, label: string): void {
  b.replaceChildren(el("span", { class: "words" }, words), icon("chevronDown"));
  b.title = label;
  b.setAttribute("aria-label", label);
}
