/** A walk through questions, with a way back. Without vscode. */

export const back = Symbol("back");
export const done = Symbol("done");

/** Asks one thing: what comes next, back, done, or undefined when the person left. */
export type Step = (canGoBack: boolean) => Promise<Step | typeof back | typeof done | undefined>;

/** Walks from the first step on; whether it came to its end. A step that goes on to itself is not gone back to twice. */
export async function walk(first: Step): Promise<boolean> {
  const past: Step[] = [];
  let step = first;
  for (;;) {
    const next = await step(past.length > 0);
    if (next === undefined) return false;
    if (next === done) return true;
    if (next === back) {
      step = past.pop() ?? first;
      continue;
    }
    if (next !== step) past.push(step);
    step = next;
  }
}
