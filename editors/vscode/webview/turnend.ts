import type { Turn, TurnEnd } from "../src/panel/messages.js";
import type { Usage } from "../src/protocol.js";
import { button, draw, el } from "./dom.js";
import { showDuration } from "./duration.js";
import { icon, stateOf } from "./icons.js";
import { plain } from "./markdown.js";
import type { Surroundings, View } from "./view.js";

/** What stands behind a turn: that it works, or how it ended, what it used and changed, and what can be done now. */
export class EndView implements View {
  readonly element = el("div", { class: "row end" });
  readonly #on: Surroundings;
  #drawn = "";

  constructor(turn: Turn, on: Surroundings) {
    this.#on = on;
    this.update(turn);
  }

  update(turn: Turn): void {
    const { status, end, usage, startedAt, own, id } = turn;
    const now = JSON.stringify([status, end, usage, startedAt]);
    if (now === this.#drawn) {
      return; // what has the focus keeps it
    }
    this.#drawn = now;
    const live = status === "running" || status === "waiting" || status === "queued";
    const { icon: name, words, tone } = stateOf(status ?? "completed");
    const took = el("span", { class: "took" });
    showDuration(took, live && status !== "queued" ? startedAt : undefined, end?.durationMs);
    this.element.dataset["state"] = status ?? "";
    const parts: (Node | string)[] = [];
    if (live || (status !== undefined && status !== "completed")) {
      parts.push(
        icon(name, undefined, tone),
        el("span", {}, live && status === "running" ? "Working…" : capital(words)),
      );
    }
    parts.push(took, el("span", { class: "usage" }, usageWords(usage)));
    this.element.replaceChildren(el("div", { class: "end-line" }, ...parts));
    if (status === "queued" && own) {
      this.element.firstElementChild?.append(
        button("Remove from the queue", icon("close"), () => this.#on.post({ type: "cancel", turn: id })),
      );
    }
    if (end) {
      this.element.append(...this.#ending(turn, end));
    }
  }

  #ending(turn: Turn, end: TurnEnd): Node[] {
    const out: Node[] = [];
    if (end.note) {
      out.push(el("p", { class: "note" }, ...draw(plain(end.note), this.#on.drawing)));
    }
    if (end.error) {
      out.push(this.#failure(turn, end.error));
    }
    if (end.changed && end.changed.length > 0) {
      out.push(this.#changes(turn, end));
    }
    return out;
  }

  #failure(turn: Turn, error: NonNullable<TurnEnd["error"]>): Node {
    const again = button(
      "Put the prompt back into the input",
      icon("refresh"),
      () => this.#on.post({ type: "retry", turn: turn.id }),
      "Try again",
    );
    const toSetUp = ["auth", "config"].includes(error.kind);
    const act = (action: "setup" | "log", title: string): Node =>
      button(title, undefined, () => this.#on.post({ type: "action", action }), title);
    return el(
      "div",
      { class: "failure" },
      el("p", { dir: "auto" }, icon("error", "Error", "bad"), " ", ...draw(plain(error.message), this.#on.drawing)),
      el("div", { class: "buttons" }, again, toSetUp ? act("setup", "Set up…") : act("log", "Show log")),
    );
  }

  #changes(turn: Turn, end: TurnEnd): Node {
    const files = (end.changed ?? []).map((c) => {
      const link = button(c.uri, icon("file"), () => this.#on.post({ type: "open", href: c.uri }), c.label);
      link.classList.add("file");
      return el("li", {}, link, c.saved ? "" : " (not on disk yet)");
    });
    const undo = button(
      "Undo what this run changed",
      icon("discard"),
      () => this.#on.post({ type: "undo", turn: turn.id }),
      "Undo run",
    );
    const untracked = end.untracked?.join(", ") ?? "";
    const rest =
      untracked === ""
        ? []
        : [el("span", { class: "dim" }, ...draw(plain(`not what ${untracked} did`), this.#on.drawing))];
    return el(
      "div",
      { class: "changed" },
      el("ul", { "aria-label": "Changed files" }, ...files),
      el("div", { class: "buttons" }, undo, ...rest),
    );
  }
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** Tokens for a person; what is not known is not shown. */
export function usageWords(usage: Usage | undefined): string {
  if (!usage || usage.totalTokens === 0) {
    return "";
  }
  const n = (x: number): string => x.toLocaleString("en-US");
  const cached = usage.cachedTokens ? ` (${n(usage.cachedTokens)} cached)` : "";
  return `${n(usage.promptTokens)} tokens in${cached}, ${n(usage.completionTokens)} out`;
}
