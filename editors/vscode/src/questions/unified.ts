/** Unified diffs, as the server shows what an edit would change. Without vscode. */

/** A part of a diff. Lines have their sign, and not their ending. */
export interface Hunk {
  /** The first line of the old text, from 1; 0 of an empty one. */
  start: number;
  lines: string[];
}

const header = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;

/** The hunks of a diff of one file; undefined: it is cut, or none. */
export function hunksOf(diff: string): Hunk[] | undefined {
  const lines = diff.split("\n");
  if (lines.at(-1) === "") lines.pop();
  const hunks: Hunk[] = [];
  let i = lines.findIndex((line) => line.startsWith("@@"));
  if (i < 0) return undefined;
  while (i < lines.length) {
    const m = header.exec(lines[i]!);
    if (m === null) return undefined;
    let [old, young] = [Number(m[2] ?? 1), Number(m[4] ?? 1)];
    const hunk: Hunk = { start: Number(m[1]), lines: [] };
    for (i++; i < lines.length && (old > 0 || young > 0 || lines[i]!.startsWith("\\")); i++) {
      const line = lines[i]!;
      switch (line[0]) {
        case " ":
          old--;
          young--;
          break;
        case "-":
          old--;
          break;
        case "+":
          young--;
          break;
        case "\\":
          break;
        default:
          return undefined;
      }
      hunk.lines.push(line);
    }
    if (old !== 0 || young !== 0) return undefined;
    hunks.push(hunk);
  }
  return hunks;
}

/** A line with its ending; only the last of a text may lack one. */
function linesOf(text: string): string[] {
  return text === "" ? [] : (text.match(/[^\n]*\n|[^\n]+$/g) ?? []);
}

/** Lines of one side of a hunk, with their endings. */
function side(hunk: Hunk, sign: "-" | "+"): string[] {
  const out: string[] = [];
  let mine = false;
  for (const line of hunk.lines) {
    if (line.startsWith("\\")) {
      const last = out.pop();
      if (last !== undefined) out.push(mine ? last.slice(0, -1) : last);
      continue;
    }
    mine = line.startsWith(" ") || line.startsWith(sign);
    if (mine) out.push(line.slice(1) + "\n");
  }
  return out;
}

/** The text that a diff makes of another; undefined: it is not of that text. */
export function patched(text: string, diff: string): string | undefined {
  const hunks = hunksOf(diff);
  if (hunks === undefined) return undefined;
  const lines = linesOf(text);
  const out: string[] = [];
  let at = 0;
  for (const hunk of hunks) {
    const before = side(hunk, "-");
    const start = before.length === 0 ? hunk.start : hunk.start - 1;
    if (start < at || before.some((line, i) => lines[start + i] !== line)) return undefined;
    out.push(...lines.slice(at, start), ...side(hunk, "+"));
    at = start + before.length;
  }
  return out.concat(lines.slice(at)).join("");
}
