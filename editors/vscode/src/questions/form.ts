/** The fields of a form: what is typed into them and what that is on the wire. The server decides whether it will do. Without vscode. */
import type { Field } from "../protocol.js";
import type { Question } from "./question.js";

/** What a field's control holds: a text, whether it is ticked, or the numbers of the options that are chosen. */
export type Typed = string | boolean | number[];

/** What to show in a field at first: what was said before, else its default. */
export function initial(field: Field, previous: Record<string, unknown> | undefined): Typed {
  const value = previous !== undefined && field.name in previous ? previous[field.name] : field.default;
  switch (field.kind) {
    case "boolean":
      return typeof value === "boolean" ? String(value) : "";
    case "enum":
      return chosen(field, [value]).slice(0, 1);
    case "enums":
      return chosen(field, Array.isArray(value) ? value : []);
    case "list":
      return Array.isArray(value) ? value.map(String).join("\n") : "";
    default:
      return typeof value === "string" || typeof value === "number" ? String(value) : "";
  }
}

function chosen(field: Field, values: unknown[]): number[] {
  const wanted = values.filter((v) => v !== undefined && v !== null).map((v) => JSON.stringify(v));
  return (field.options ?? []).flatMap((o, i) => (wanted.includes(JSON.stringify(o.value)) ? [i] : []));
}

/** A field's value on the wire; null: none, not its default. */
export function valueOf(field: Field, typed: Typed): unknown {
  const options = field.options ?? [];
  switch (field.kind) {
    case "boolean":
      return typed === "true" || typed === true ? true : typed === "false" || typed === false ? false : null;
    case "enum":
      return Array.isArray(typed) ? (options[typed[0] ?? -1]?.value ?? null) : null;
    case "enums": {
      const list = Array.isArray(typed) ? typed.flatMap((i) => (options[i] ? [options[i].value] : [])) : [];
      return list.length > 0 || field.required ? list : null;
    }
    case "list": {
      const lines = typeof typed === "string" ? typed.split("\n").map((line) => line.trim()) : [];
      const list = lines.filter((line) => line !== "");
      return list.length > 0 || field.required ? list : null;
    }
    case "number":
    case "integer": {
      const text = typeof typed === "string" ? typed.trim() : "";
      if (text === "") return null;
      const n = Number(text);
      return Number.isFinite(n) ? n : text; // what is no number is refused by the server, by name
    }
    case "string":
      return typed === "" ? null : typed;
  }
}

/** What is missing in a field, a sentence; undefined: nothing that can be told here. */
export function lacks(field: Field, value: unknown): string | undefined {
  return field.required && value === null ? "This is needed." : undefined;
}

/** What was wrong with the answer before, by field; `rest` is about none of them. */
export interface Problems {
  fields: Map<string, string>;
  rest: string;
}

export function problemsOf(q: Question): Problems {
  const fields = new Map<string, string>();
  const said = q.problem.replace(/^agentls\.approve: content must be \{.*?\}: /su, "");
  const rest: string[] = [];
  for (const part of said.split("; ").filter((text) => text !== "")) {
    const field = q.form?.fields.find((f) => part.startsWith(`${JSON.stringify(f.name)} `));
    if (field === undefined || fields.has(field.name)) rest.push(part);
    else fields.set(field.name, sentence(part.slice(JSON.stringify(field.name).length + 1)));
  }
  return { fields, rest: sentence(rest.join("; ")) };
}

function sentence(text: string): string {
  const begun = text.charAt(0).toUpperCase() + text.slice(1);
  return text === "" || /[.?!…]$/u.test(text) ? begun : begun + ".";
}

/** The name that a person sees. */
export function labelOf(field: Field): string {
  return field.title ?? field.name;
}
