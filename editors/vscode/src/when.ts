/** Times and counts in words. Without vscode. */

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

/** How long ago a time was, such as `3 min ago`; from a week on the date. Both in milliseconds. */
export function ago(then: number, now: number): string {
  const past = now - then;
  if (Number.isNaN(past)) return "at an unknown time";
  if (past < minute) return "just now";
  if (past < hour) return `${Math.floor(past / minute)} min ago`;
  if (past < day) return `${Math.floor(past / hour)} h ago`;
  if (past < 7 * day) return plural(Math.floor(past / day), "day") + " ago";
  return localDate(then);
}

/** Under which heading of a list a time stands. */
export function era(then: number, now: number): "Today" | "Yesterday" | "This week" | "Older" {
  const days = Math.round((startOfDay(now) - startOfDay(then)) / day);
  if (days <= 0) return "Today";
  if (days === 1) return "Yesterday";
  return days < 7 ? "This week" : "Older";
}

export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** The local date, as 2026-11-30. */
export function localDate(time: number): string {
  const d = new Date(time);
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())}`;
}

/** The local time of the day, as 09:05:07. */
export function localTime(time: number): string {
  const d = new Date(time);
  return [d.getHours(), d.getMinutes(), d.getSeconds()].map(two).join(":");
}

function two(n: number): string {
  return String(n).padStart(2, "0");
}

function startOfDay(time: number): number {
  return new Date(time).setHours(0, 0, 0, 0);
}
