import type { Suggestion } from "../src/panel/messages.js";

/** What of a list still fits once more was typed. */
export function fitting(list: readonly Suggestion[], text: string, cursor: number): Suggestion[] {
  return list.filter((s) => {
    const typed = text.slice(s.start, cursor).toLowerCase();
    return s.start <= cursor && !typed.includes("\n") && isSubsequence(typed, s.filter.toLowerCase());
  });
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
