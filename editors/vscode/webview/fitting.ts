import type { Suggestion } from "../src/panel/messages.js";

/** What of a list still fits once more was typed; what begins with it comes first. */
export function fitting(list: readonly Suggestion[], text: string, cursor: number): Suggestion[] {
  const typed = (s: Suggestion): string => text.slice(s.start, cursor).toLowerCase();
  const begins = (s: Suggestion): boolean => s.filter.toLowerCase().startsWith(typed(s));
  const fit = list.filter(
    (s) => s.start <= cursor && !typed(s).includes("\n") && isSubsequence(typed(s), s.filter.toLowerCase()),
  );
  return [...fit.filter(begins), ...fit.filter((s) => !begins(s))];
}

function isSubsequence(part: string, whole: string): boolean {
  let at = 0;
  for (const c of part) {
    at = whole.indexOf(c, at) + 1;
    if (at === 0) {
      return false;
    }
  }
  return true;
}
