/** What the server writes to stderr. Without vscode. */

export interface LogLine {
  level: "error" | "warn" | "info";
  text: string;
}

/** A line of Go's slog (`time=… level=… msg="…" key=value`), or of whatever else was started: that is info. */
export function readLogLine(line: string): LogLine {
  const found = /^time=\S+ level=(\w+)\S* (.*)$/u.exec(line);
  if (found === null) return { level: "info", text: line };
  const [, level = "", text = ""] = found;
  return { level: level === "ERROR" ? "error" : level === "WARN" ? "warn" : "info", text };
}

/** The message of the last line that says something, for a person; undefined: nothing was said. */
export function lastWords(lines: readonly string[]): string | undefined {
  const line = lines.findLast((l) => l.trim() !== "");
  if (line === undefined) return undefined;
  const { text } = readLogLine(line);
  const quoted = /(?:^| )msg=("(?:[^"\\]|\\.)*")/u.exec(text)?.[1];
  if (quoted === undefined) return text;
  try {
    return JSON.parse(quoted) as string;
  } catch {
    return quoted; // Go escapes some characters as JSON does not
  }
}
