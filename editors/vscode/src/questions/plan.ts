/** The steps of a plan as a person edits them. Without vscode. */
import type { Step } from "./question.js";

/** What an edit of the steps is, on the wire; undefined: they are as asked. */
export function editedSteps(asked: readonly Step[], steps: readonly Step[]): Step[] | undefined {
  return JSON.stringify(asked) === JSON.stringify(steps) ? undefined : steps.map((s) => ({ ...s }));
}

/** An id for a step that is added: none that is taken. */
export function freshId(steps: readonly Step[]): string {
  const taken = new Set(steps.map((s) => s.id));
  let n = steps.length + 1;
  while (taken.has(`step${n}`)) n++;
  return `step${n}`;
}

/** The steps without one; nothing waits for it any more. */
export function without(steps: readonly Step[], id: string): Step[] {
  return steps.filter((s) => s.id !== id).map((s) => ({ ...s, dependsOn: s.dependsOn.filter((d) => d !== id) }));
}

/** The steps with the one at an index moved by as many places. */
export function moved(steps: readonly Step[], index: number, by: number): Step[] {
  const to = index + by;
  const out = [...steps];
  const [step] = out.splice(index, 1);
  if (step === undefined || to < 0 || to > out.length) return [...steps];
  out.splice(to, 0, step);
  return out;
}

/** Why a plan cannot run, a sentence; undefined: nothing that can be told here. */
export function problemOf(steps: readonly Step[]): string | undefined {
  if (steps.length === 0) return "A plan needs a step. Add one, or stop.";
  const ids = new Set<string>();
  for (const [i, s] of steps.entries()) {
    if (s.title.trim() === "") return `Step ${i + 1} has no title.`;
    if (s.task.trim() === "") return `Step ${i + 1} says nothing of what is to be done.`;
    if (ids.has(s.id)) return `Two steps have the id ${s.id}.`;
    ids.add(s.id);
  }
  for (const [i, s] of steps.entries()) {
    const unknown = s.dependsOn.find((d) => !ids.has(d));
    if (unknown !== undefined) return `Step ${i + 1} waits for ${unknown}, which is no step.`;
  }
  const circle = inCircle(steps);
  return circle === undefined ? undefined : `Steps wait for each other: ${circle.map((s) => s.title).join(" → ")}.`;
}

/** Steps that wait for each other, the first of them at the end once more. */
function inCircle(steps: readonly Step[]): Step[] | undefined {
  const at = new Map(steps.map((s) => [s.id, s]));
  const done = new Set<string>();
  const visit = (step: Step, path: Step[]): Step[] | undefined => {
    const from = path.indexOf(step);
    if (from >= 0) return [...path.slice(from), step];
    if (done.has(step.id)) return undefined;
    for (const id of step.dependsOn) {
      const next = at.get(id);
      const circle = next && visit(next, [...path, step]);
      if (circle) return circle;
    }
    done.add(step.id);
    return undefined;
  };
  for (const step of steps) {
    const circle = visit(step, []);
    if (circle) return circle;
  }
  return undefined;
}
