import { editedSteps, freshId, moved, problemOf, without } from "../src/questions/plan.js";
import type { Question, Step } from "../src/questions/question.js";
import { el } from "./dom.js";
import { shown } from "./questionparts.js";

/** The steps of a plan: read first, edited where a person wants to. */
export class PlanView {
  readonly element = el("div", { class: "planview" });
  private readonly asked: readonly Step[];
  private steps: Step[];
  private editing: boolean;
  private readonly problem = el("p", { class: "problem", role: "alert" });

  /** draft: the steps as edited before. changed: tells those of now; undefined: as asked. */
  constructor(
    q: Question,
    draft: Step[] | undefined,
    private readonly changed: (steps: Step[] | undefined) => void,
  ) {
    this.asked = q.steps ?? [];
    const said = q.previous?.["steps"] as Step[] | undefined; // what planResult sent
    this.steps = (draft ?? said ?? this.asked).map((s) => ({ ...s }));
    this.editing = draft !== undefined || said !== undefined;
    if (said !== undefined && draft === undefined) changed(this.steps);
    this.draw();
  }

  /** The content of a yes; undefined: the plan cannot run, and it is said why. */
  read(): Record<string, unknown> | undefined {
    const problem = this.editing ? problemOf(this.steps) : undefined;
    this.problem.replaceChildren(...shown(problem ?? ""));
    if (problem !== undefined) return undefined;
    const steps = editedSteps(this.asked, this.steps);
    return steps === undefined ? {} : { steps };
  }

  private draw(): void {
    const list = el(
      "ol",
      { class: "asksteps" },
      ...this.steps.map((s, i) => (this.editing ? this.edited(s, i) : this.read1(s))),
    );
    this.element.replaceChildren(list, this.problem, el("div", { class: "tools" }, ...this.tools()));
  }

  private tools(): HTMLElement[] {
    if (!this.editing) {
      return [
        tool("Edit Plan", () => {
          this.editing = true;
          this.draw();
          this.focus(0);
        }),
      ];
    }
    return [
      tool("Add Step", () => {
        this.steps.push({ id: freshId(this.steps), title: "", task: "", dependsOn: [] });
        this.redraw(this.steps.length - 1);
      }),
      tool("Take the Edit Back", () => {
        this.steps = this.asked.map((s) => ({ ...s }));
        this.editing = false;
        this.changed(undefined);
        this.problem.replaceChildren();
        this.draw();
      }),
    ];
  }

  private read1(step: Step): HTMLElement {
    const after = step.dependsOn.map((id) => this.number(id)).join(", ");
    return el(
      "li",
      {},
      el("strong", {}, ...shown(step.title)),
      ...(after === "" ? [] : [el("span", { class: "after" }, ` after ${after}`)]),
      el("p", { class: "task" }, ...shown(step.task)),
    );
  }

  private edited(step: Step, i: number): HTMLElement {
    const n = i + 1;
    const title = el("input", {
      type: "text",
      value: step.title,
      "aria-label": `Title of step ${n}`,
      placeholder: "Title",
    });
    title.addEventListener("input", () => {
      step.title = title.value;
      this.changed(this.steps);
    });
    const task = el("textarea", {
      "aria-label": `What step ${n} is to do`,
      rows: "3",
      placeholder: "What is to be done",
    });
    task.value = step.task;
    task.addEventListener("input", () => {
      step.task = task.value;
      this.changed(this.steps);
    });
    const move = (by: number): void => {
      this.steps = moved(this.steps, i, by);
      this.redraw(i + by);
    };
    const up = tool("↑", () => move(-1), `Move step ${n} up`);
    const down = tool("↓", () => move(1), `Move step ${n} down`);
    up.disabled = i === 0;
    down.disabled = i === this.steps.length - 1;
    const remove = tool(
      "Remove",
      () => {
        this.steps = without(this.steps, step.id);
        this.redraw(Math.max(0, i - 1));
      },
      `Remove step ${n}`,
    );
    return el("li", {}, el("div", { class: "tools" }, title, up, down, remove), task, this.after(step, n));
  }

  /** Which steps must be done before. */
  private after(step: Step, n: number): HTMLElement {
    const others = this.steps.flatMap((s, i) => (s.id === step.id ? [] : [{ s, n: i + 1 }]));
    const boxes = others.map(({ s, n: other }) => {
      const box = el("input", { type: "checkbox" });
      box.checked = step.dependsOn.includes(s.id);
      box.addEventListener("change", () => {
        step.dependsOn = box.checked ? [...step.dependsOn, s.id] : step.dependsOn.filter((id) => id !== s.id);
        this.changed(this.steps);
      });
      return el("label", { class: "option", title: s.title }, box, String(other));
    });
    if (boxes.length === 0) return el("div", {});
    return el("div", { role: "group", class: "after", "aria-label": `Steps before step ${n}` }, "After: ", ...boxes);
  }

  private number(id: string): number {
    return this.steps.findIndex((s) => s.id === id) + 1;
  }

  private redraw(focus: number): void {
    this.changed(this.steps);
    this.draw();
    this.focus(focus);
  }

  private focus(step: number): void {
    this.element.querySelectorAll<HTMLElement>(".asksteps > li")[step]?.querySelector("input")?.focus();
  }
}

function tool(words: string, run: () => void, label?: string): HTMLButtonElement {
  const b = el("button", { type: "button", class: "toggle", "aria-label": label, title: label }, words);
  b.addEventListener("click", run);
  return b;
}
