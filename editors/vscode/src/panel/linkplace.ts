/** Where a link of an answer leads. Without vscode. */

export function schemeOf(href: string): string | undefined {
  return /^([a-z][a-z0-9+.-]*):/i.exec(href)?.[1]?.toLowerCase();
}

/** The path of a link to a file, and the line (from 1) that its `#L10` or `:10` names. */
export function placeOf(href: string): { path: string; line?: number } {
  const [, bare = href, hash, colon] = /^(.*?)(?:#L?(\d+)(?:[-,].*)?|:(\d+)(?::\d+)?)?$/s.exec(href) ?? [];
  const path = decoded(bare.replace(/^file:(?:\/\/(?:localhost)?)?/i, "").replace(/[?#].*$/s, ""));
  const line = Number(hash ?? colon ?? 0);
  return line > 0 && line < 10_000_000 ? { path, line } : { path };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a % that begins nothing stands for itself
  }
}
