import type { Row, Turn } from "../src/panel/messages.js";
import { Answer } from "./answer.js";
import { button, draw, el } from "./dom.js";
import { icon } from "./icons.js";
import { plain } from "./markdown.js";
import { PlanView } from "./planlist.js";
import type { Line } from "./state.js";
import { ToolView } from "./toolrow.js";
import { EndView } from "./turnend.js";
import { folds, type Surroundings, type View } from "./view.js";

/** Draws a line of the conversation. */
export function viewOf(line: Line, on: Surroundings): View {
  switch (line.view) {
    case "prompt":
      return new PromptView(line.turn, line.key, on);
    case "end":
      return new EndView(line.turn, on);
    case "row":
      return rowView(line.turn, line.row, line.key, on);
  }
}

function rowView(turn: Turn, row: Row, key: string, on: Surroundings): View {
  switch (row.kind) {
    case "text": {
      const answer = new Answer(on.drawing, row.text);
      answer.element.classList.add("row");
      return { element: answer.element, update: () => undefined, append: (text) => answer.append(text) };
    }
    case "reasoning":
      return new ThinkingView(row, key, on);
    case "tool":
      return new ToolView(turn, row, key, on);
    case "plan":
      return new PlanView(turn, row, key, on);
    case "steer":
      return still(el("div", { class: "row steer" }, el("b", {}, "You added: "), ...draw(plain(row.text), on.drawing)));
    case "note":
      return still(el("p", { class: "row note" }, ...draw(plain(row.text), on.drawing)));
    case "mention": {
      const failed = row.status !== "expanded";
      const what = failed ? `${row.status}${row.error ? `: ${row.error}` : ""}` : "read";
      const name = el(
        "span",
        { class: "name" },
        el("span", { class: "dim" }, "@" + row.server + ":"),
        ...draw(plain(row.uri), on.drawing),
      );
      const said = failed ? el("span", { class: "said" }, ...draw(plain(what), on.drawing)) : undefined;
      return still(
        el(
          "div",
          { class: "row mention" },
          icon(failed ? "warning" : "file", what, failed ? "warn" : undefined),
          name,
          said,
        ),
      );
    }
  }
}

const still = (element: HTMLElement): View => ({ element, update: () => undefined });

/** What a person asked. A long one is cut until it is unfolded. */
class PromptView implements View {
  readonly element = el("div", { class: "row prompt" });
  readonly #tags = el("div", { class: "tags" });

  constructor(turn: Turn, key: string, on: Surroundings) {
    const text = turn.prompt;
    const long = text.length > 1200 || text.split("\n", 14).length > 13;
    const body = el("div", { class: "typed", dir: "auto" });
    const fill = (): void =>
      body.replaceChildren(...draw(plain(long && !on.unfolded.has(key) ? cut(text) : text), on.drawing));
    fill();
    this.element.append(el("span", { class: "sr" }, "You: "), body);
    if (long) {
      const more = el("button", { type: "button", class: "more", "aria-expanded": String(on.unfolded.has(key)) });
      const label = (): void => void (more.textContent = on.unfolded.has(key) ? "Show less" : "Show all");
      label();
      more.addEventListener("click", () => {
        on.unfolded[on.unfolded.has(key) ? "delete" : "add"](key);
        more.setAttribute("aria-expanded", String(on.unfolded.has(key)));
        label();
        fill();
      });
      this.element.append(more);
    }
    this.element.append(this.#tags);
    this.update(turn);
  }

  update(turn: Turn): void {
    const tag = (text: string): Node => el("span", { class: "tag" }, text);
    const mode = turn.mode === "plan" || turn.mode === "team" ? [tag(turn.mode)] : [];
    this.#tags.replaceChildren(...mode, ...(turn.document ? [tag(turn.document)] : []));
    this.#tags.hidden = this.#tags.childElementCount === 0;
  }
}

function cut(text: string): string {
  return text.slice(0, 1000).split("\n").slice(0, 10).join("\n") + "…"; // prettier-ignore
}

/** What the model thought, folded. */
class ThinkingView implements View {
  readonly element = el("details", { class: "row thinking" });
  readonly #body = el("div", { class: "body" });
  #answer: Answer | undefined;
  #text: string;

  constructor(row: Extract<Row, { kind: "reasoning" }>, key: string, on: Surroundings) {
    this.#text = row.text;
    this.element.append(el("summary", {}, icon("thinking"), "Thinking"), this.#body);
    folds(this.element, key, on, () => {
      if (!this.#answer) {
        this.#answer = new Answer(on.drawing, this.#text);
        this.#body.append(this.#answer.element);
      }
    });
  }

  update(): void {
    // Its text only grows.
  }

  append(text: string): void {
    this.#text += text;
    this.#answer?.append(text);
  }
}

/** The buttons of a code block. */
export function codeBar(language: string, text: () => string, on: Pick<Surroundings, "post">): Node {
  const act = (action: "copy" | "insert" | "new", label: string, name: "copy" | "insert" | "newFile"): Node =>
    button(label, icon(name), () => on.post({ type: "code", action, text: text(), language }));
  return el(
    "div",
    { class: "code-bar", role: "toolbar", "aria-label": "Code block" },
    el("span", { class: "language" }, language),
    act("copy", "Copy", "copy"),
    act("insert", "Insert at cursor", "insert"),
    act("new", "Put into a new file", "newFile"),
  );
}
