import type { Row, Turn } from "../src/panel/messages.js";
import type { PlanStep } from "../src/protocol.js";
import { button, draw, el } from "./dom.js";
import { icon, stateOf } from "./icons.js";
import { plain } from "./markdown.js";
import { rowsOf } from "./state.js";
import { ToolView } from "./toolrow.js";
import type { Surroundings, View } from "./view.js";

type PlanRow = Extract<Row, { kind: "plan" }>;
type CallRow = Extract<Row, { kind: "tool" }>;

/** Of a step's calls, those that are drawn at first; more on demand. */
const callsShown = 20;

/** A plan as a list that ticks off; what a step called stands under it. */
export class PlanView implements View {
  readonly element = el("section", { class: "row plan", "aria-label": "Plan" });
  readonly #head = el("div", { class: "plan-head" });
  readonly #list = el("ol");
  readonly #steps = new Map<string, StepView>();
  readonly #key: string;
  readonly #on: Surroundings;
  #row: PlanRow;

  constructor(turn: Turn, row: PlanRow, key: string, on: Surroundings) {
    this.#row = row;
    this.#key = key;
    this.#on = on;
    this.element.append(this.#head, this.#list);
    this.update(turn);
  }

  update(turn: Turn): void {
    const now = turn.rows.findLast((r) => r.id === this.#row.id);
    if (now?.kind !== "plan") {
      return;
    }
    this.#row = now;
    const done = now.steps.filter((s) => s.status === "completed").length;
    const title = now.plan > 1 ? `Plan ${String(now.plan)}` : "Plan";
    this.#head.replaceChildren(icon("tasklist"), ` ${title}: ${String(done)} of ${String(now.steps.length)} done`);
    now.steps.forEach((step, i) => {
      const view = this.#steps.get(step.id) ?? this.#add(step);
      const calls = rowsOf(turn, now, i + 1).filter((r): r is CallRow => r.kind === "tool");
      view.update(turn, step, calls);
    });
  }

  #add(step: PlanStep): StepView {
    const view = new StepView(`${this.#key}/${step.id}`, this.#on);
    this.#steps.set(step.id, view);
    this.#list.append(view.element);
    return view;
  }
}

class StepView {
  readonly element = el("li", { class: "step" });
  readonly #line = el("div", { class: "step-line" });
  readonly #details = el("details");
  readonly #count = el("summary");
  readonly #calls = el("div");
  readonly #drawn = new Map<string, ToolView>();
  readonly #key: string;
  readonly #on: Surroundings;
  #shown = callsShown;
  #latest: { turn: Turn; calls: CallRow[] } | undefined;

  constructor(key: string, on: Surroundings) {
    this.#key = key;
    this.#on = on;
    this.#details.append(this.#count, this.#calls);
    this.#details.open = on.unfolded.has(key);
    this.#details.addEventListener("toggle", () => {
      this.#on.unfolded[this.#details.open ? "add" : "delete"](key);
      this.#drawCalls();
    });
    this.element.append(this.#line);
  }

  update(turn: Turn, step: PlanStep, calls: CallRow[]): void {
    this.#latest = { turn, calls };
    const status = step.status ?? "pending";
    this.element.dataset["state"] = status;
    const { icon: name, words, tone } = stateOf(status);
    const title = el("span", { class: "step-title" }, ...draw(plain(step.title), this.#on.drawing));
    const note = step.note ? el("div", { class: "dim" }, ...draw(plain(step.note), this.#on.drawing)) : undefined;
    this.#line.replaceChildren(icon(name, words, tone), title, ...(note ? [note] : []));
    if (calls.length > 0) {
      const last = calls.at(-1)?.call;
      const doing = last && ["running", "waiting"].includes(last.state) ? `, now ${last.tool}` : "";
      this.#count.textContent = `${String(calls.length)} ${calls.length === 1 ? "call" : "calls"}${doing}`;
      if (!this.#details.isConnected) {
        this.element.append(this.#details);
      }
      this.#drawCalls();
    }
  }

  #drawCalls(): void {
    if (!this.#latest || !this.#details.open) {
      this.#calls.replaceChildren(); // what is folded costs nothing
      this.#drawn.clear();
      return;
    }
    const { turn, calls } = this.#latest;
    const older = Math.max(0, calls.length - this.#shown);
    const views = calls.slice(older).map((row) => {
      const view = this.#drawn.get(row.id);
      view?.update(turn, row);
      return view ?? this.#made(turn, row);
    });
    const more =
      older > 0
        ? [
            button(
              `Show ${String(older)} earlier calls`,
              undefined,
              () => this.#showMore(),
              `Show ${String(older)} earlier calls`,
            ),
          ]
        : [];
    const wanted = [...more, ...views.map((v) => v.element)];
    if (wanted.length !== this.#calls.children.length || wanted.some((e, i) => this.#calls.children[i] !== e)) {
      this.#calls.replaceChildren(...wanted);
    }
  }

  #made(turn: Turn, row: CallRow): ToolView {
    const view = new ToolView(turn, row, `${this.#key}/${row.id}`, this.#on);
    this.#drawn.set(row.id, view);
    return view;
  }

  #showMore(): void {
    this.#shown += 50;
    this.#drawCalls();
  }
}
