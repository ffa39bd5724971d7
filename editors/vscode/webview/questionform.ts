import type { Field } from "../src/protocol.js";
import { initial, labelOf, lacks, problemsOf, valueOf, type Typed } from "../src/questions/form.js";
import type { Question } from "../src/questions/question.js";
import { el } from "./dom.js";
import { shown } from "./questionparts.js";

/** A field's control. */
interface Control {
  field: Field;
  /** What the field is drawn with. */
  element: HTMLElement;
  /** Takes the focus, and is marked where it is wrong. */
  input: HTMLElement;
  problem: HTMLElement;
  typed: () => Typed;
}

/** A form: a control for each of its fields. */
export class FormView {
  readonly element: HTMLElement;
  private readonly controls: Control[];

  /** draft: what was typed before, by field. changed: tells what is typed now, less the secrets. */
  constructor(q: Question, draft: Record<string, Typed> | undefined, changed: (typed: Record<string, Typed>) => void) {
    const problems = problemsOf(q);
    this.controls = (q.form?.fields ?? []).map((field, i) =>
      control(field, `${q.id}-${i}`, draft?.[field.name] ?? initial(field, q.previous)),
    );
    for (const c of this.controls) say(c, problems.fields.get(c.field.name));
    this.element = el("div", { class: "form" }, ...this.controls.map((c) => c.element));
    if (problems.rest !== "")
      this.element.prepend(el("p", { class: "problem", role: "alert" }, ...shown(problems.rest)));
    this.element.addEventListener("input", () =>
      changed(Object.fromEntries(this.controls.filter((c) => !c.field.secret).map((c) => [c.field.name, c.typed()]))),
    );
  }

  /** The values by name; undefined: something is lacking, and it is said where. */
  read(): Record<string, unknown> | undefined {
    let wrong: Control | undefined;
    const values: Record<string, unknown> = {};
    for (const c of this.controls) {
      const value = valueOf(c.field, c.typed());
      const problem = lacks(c.field, value);
      say(c, problem);
      if (problem !== undefined) wrong ??= c;
      Object.defineProperty(values, c.field.name, { value, enumerable: true }); // also where the name is __proto__
    }
    wrong?.input.focus();
    return wrong === undefined ? values : undefined;
  }
}

function say(c: Control, problem: string | undefined): void {
  c.problem.replaceChildren(...shown(problem ?? ""));
  c.input.setAttribute("aria-invalid", String(problem !== undefined));
}

function control(field: Field, id: string, typed: Typed): Control {
  const problem = el("p", { class: "problem", id: `${id}-problem`, role: "alert" });
  const about = [field.description ?? "", field.hint ?? ""].filter((text) => text !== "").join(" — ");
  const described = `${id}-about ${id}-problem`;
  const made = field.kind === "enums" ? checkboxes(field, id, typed) : single(field, id, typed);
  made.input.setAttribute("aria-describedby", described);
  if (field.required) made.input.setAttribute("aria-required", "true");
  const title = [...shown(labelOf(field)), ...(field.required ? [] : [el("span", { class: "optional" }, " optional")])];
  const hint = el("p", { class: "hint", id: `${id}-about` }, ...shown(about));
  const label =
    field.kind === "enums"
      ? el("span", { class: "label", id: `${id}-label` }, ...title)
      : el("label", { for: id, class: "label" }, ...title);
  const element = el("div", { class: "field" }, label, made.element, hint, problem);
  return { field, element, input: made.input, problem, typed: made.typed };
}

interface Made {
  element: HTMLElement;
  input: HTMLElement;
  typed: () => Typed;
}

function single(field: Field, id: string, typed: Typed): Made {
  switch (field.kind) {
    case "boolean":
      return select(
        id,
        [
          ["", "Choose…"],
          ["true", "Yes"],
          ["false", "No"],
        ],
        String(typed),
        (value) => value,
      );
    case "enum":
      return select(
        id,
        [
          ["", field.required ? "Choose…" : "None"],
          ...(field.options ?? []).map((o, i): [string, string] => [String(i), o.title]),
        ],
        String(Array.isArray(typed) ? (typed[0] ?? "") : ""),
        (value) => (value === "" ? [] : [Number(value)]),
      );
    case "list": {
      const area = el("textarea", { id, rows: "3", placeholder: "One on each line" });
      area.value = String(typed);
      return { element: area, input: area, typed: () => area.value };
    }
    default: {
      const input = el("input", {
        id,
        type: field.secret ? "password" : "text",
        autocomplete: "off",
        spellcheck: "false",
        inputmode: field.kind === "string" ? undefined : "decimal",
      });
      input.value = String(typed);
      return { element: input, input, typed: () => input.value };
    }
  }
}

function select(id: string, options: [string, string][], value: string, read: (value: string) => Typed): Made {
  const list = el("select", { id }, ...options.map(([v, title]) => el("option", { value: v }, ...shown(title))));
  list.value = value;
  return { element: list, input: list, typed: () => read(list.value) };
}

function checkboxes(field: Field, id: string, typed: Typed): Made {
  const boxes = (field.options ?? []).map((o, i) => {
    const box = el("input", { type: "checkbox" });
    box.checked = Array.isArray(typed) && typed.includes(i);
    return { box, label: el("label", { class: "option" }, box, el("span", {}, ...shown(o.title))) };
  });
  const group = el(
    "div",
    { role: "group", "aria-labelledby": `${id}-label`, class: "options", tabindex: "-1" },
    ...boxes.map((b) => b.label),
  );
  return { element: group, input: group, typed: () => boxes.flatMap((b, i) => (b.box.checked ? [i] : [])) };
}
