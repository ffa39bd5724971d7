import type { Row, ToolRow, Turn } from "../src/panel/messages.js";
import { el } from "./dom.js";
import { showDuration } from "./duration.js";
import { icon, stateOf } from "./icons.js";
import { plain } from "./markdown.js";
import { draw } from "./dom.js";
import { folds, type Surroundings, type View } from "./view.js";

/** The most of arguments or a result that is drawn, in UTF-16 units. */
const maxShown = 20_000;

/** A call of a tool, as a row that unfolds to its arguments and its result. */
export class ToolView implements View {
  readonly element = el("details", { class: "row tool" });
  readonly #state = el("span", { class: "state" });
  readonly #name = el("span", { class: "name" });
  readonly #took = el("span", { class: "took" });
  readonly #message = el("span", { class: "said" });
  readonly #body = el("div", { class: "body" });
  readonly #on: Surroundings;
  #turn: Turn;
  #row: Extract<Row, { kind: "tool" }>;
  #drawn: string | undefined;

  constructor(turn: Turn, row: Extract<Row, { kind: "tool" }>, key: string, on: Surroundings) {
    this.#turn = turn;
    this.#row = row;
    this.#on = on;
    this.element.append(el("summary", {}, this.#state, this.#name, this.#message, this.#took), this.#body);
    this.update(turn, row);
    folds(this.element, key, on, () => this.#fill());
  }

  update(turn: Turn, row?: Row): void {
    this.#turn = turn;
    const now = row ?? turn.rows.findLast((r) => r.id === this.#row.id);
    if (now?.kind !== "tool") {
      return;
    }
    this.#row = now;
    const call = now.call;
    const { icon: name, words, tone } = stateOf(call.state);
    if (this.element.dataset["state"] !== call.state) {
      this.element.dataset["state"] = call.state;
      this.#state.replaceChildren(icon(name, words, tone));
      this.#state.title = words;
    }
    this.#name.replaceChildren(...nameOf(call));
    // Why it was not run, or how far it is, must be read without unfolding it.
    this.#message.replaceChildren(...draw(plain(call.message ?? ""), this.#on.drawing));
    showDuration(this.#took, isRunning(call) ? call.startedAt : undefined, call.durationMs);
    if (this.element.open) {
      this.#fill();
    }
  }

  #fill(): void {
    const call = this.#row.call;
    const now = JSON.stringify([call.arguments, call.result, call.state]);
    if (now === this.#drawn) {
      return;
    }
    this.#drawn = now;
    this.#body.replaceChildren(
      ...this.#section("Arguments", pretty(call.arguments)),
      ...this.#section("Result", call.result),
    );
    if (call.result === undefined && !isRunning(call) && call.state !== "pending") {
      this.#on.post({ type: "results", turn: this.#turn.id });
    }
  }

  #section(title: string, text: string | undefined): Node[] {
    if (text === undefined || text === "") {
      return [];
    }
    const cut = text.length > maxShown;
    const shown = cut ? text.slice(0, maxShown) : text;
    const pre = el(
      "pre",
      { tabindex: "0", role: "group", "aria-label": title },
      ...draw(plain(shown), this.#on.drawing),
    );
    const note = cut
      ? el("p", { class: "dim" }, `${String(text.length - maxShown)} more characters are not shown.`)
      : undefined;
    return [el("h4", {}, title), pre, ...(note ? [note] : [])];
  }
}

const isRunning = (call: ToolRow): boolean => call.state === "running" || call.state === "waiting";

function nameOf(call: ToolRow): Node[] {
  const tool = el("b", {}, call.tool);
  const part = call.part?.startsWith("reviewer") ? [" ", el("span", { class: "dim" }, "(reviewer)")] : [];
  const server = call.server === undefined ? [] : [el("span", { class: "dim" }, call.server + " › ")];
  return [...server, tool, ...part].map((n) => (typeof n === "string" ? document.createTextNode(n) : n));
}

/** JSON, indented; what is none stays as it is. */
export function pretty(json: string | undefined): string | undefined {
  if (json === undefined || json.length > 200_000) {
    return json;
  }
  try {
    return JSON.stringify(JSON.parse(json), null, 2);
  } catch {
    return json;
  }
}
