/** The last words of an MCP server as a text. Without vscode. */
import type { ServerLog } from "../protocol.js";

/** A line each; the server's texts are one line already. */
export function logText(log: ServerLog): string {
  const lines = log.lines.map(({ time, source, level, text }) => {
    const from = source === "stderr" ? "stderr" : `${source} ${level}`;
    return `${timeOf(time)} [${from}] ${text}`;
  });
  if (lines.length === 0) lines.push("It has said nothing yet.");
  if (log.error !== undefined && log.error !== "") lines.push("", `${log.status}: ${log.error}`);
  return lines.join("\n") + "\n";
}

/** RFC 3339 as the time of the day here. */
function timeOf(time: string): string {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return time;
  const two = (n: number) => String(n).padStart(2, "0");
  const milliseconds = String(date.getMilliseconds()).padStart(3, "0");
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${milliseconds}`;
}
