/** Names, kinds and sizes of resources. Without vscode. */
import type { Content } from "../protocol.js";
import { oneLine } from "../text.js";

/** Suffixes that make VS Code take a text, or an image, for what it is. */
const suffixes: Record<string, string> = {
  "application/json": ".json",
  "application/javascript": ".js",
  "application/pdf": ".pdf",
  "application/sql": ".sql",
  "application/toml": ".toml",
  "application/typescript": ".ts",
  "application/xml": ".xml",
  "application/x-sh": ".sh",
  "application/x-yaml": ".yaml",
  "application/yaml": ".yaml",
  "audio/mpeg": ".mp3",
  "audio/ogg": ".ogg",
  "audio/wav": ".wav",
  "audio/x-wav": ".wav",
  "image/avif": ".avif",
  "image/bmp": ".bmp",
  "image/gif": ".gif",
  "image/jpeg": ".jpg",
  "image/png": ".png",
  "image/svg+xml": ".svg",
  "image/webp": ".webp",
  "image/x-icon": ".ico",
  "text/css": ".css",
  "text/csv": ".csv",
  "text/html": ".html",
  "text/javascript": ".js",
  "text/markdown": ".md",
  "text/plain": ".txt",
  "text/typescript": ".ts",
  "text/x-diff": ".diff",
  "text/x-go": ".go",
  "text/x-java": ".java",
  "text/x-patch": ".diff",
  "text/x-python": ".py",
  "text/x-rust": ".rs",
  "text/xml": ".xml",
  "text/yaml": ".yaml",
  "video/mp4": ".mp4",
  "video/webm": ".webm",
};

/** A MIME type without its parameters. */
function plainType(mimeType: string | undefined): string {
  return (mimeType ?? "").split(";", 1)[0]!.trim().toLowerCase();
}

function suffixOf(mimeType: string | undefined): string {
  const type = plainType(mimeType);
  if (suffixes[type] !== undefined) return suffixes[type];
  if (type.endsWith("+json")) return ".json";
  if (type.endsWith("+xml")) return ".xml";
  return "";
}

/**
 * A file name for what a URI names, that a file system takes and that tells its kind. Never one of a prompt buffer:
 * what a server wrote is no prompt.
 */
export function fileNameOf(uri: string, mimeType?: string): string {
  const last =
    uri
      .replace(/[?#].*$/su, "")
      .replace(/\/+$/u, "")
      .split(/[/:]/u)
      .at(-1) ?? "";
  let name = oneLine(decoded(last), 120)
    .replace(/[^\p{L}\p{N}._ ()@+=,-]/gu, "_")
    .replace(/^[. ]+|[. ]+$/gu, "");
  if (name === "") name = "resource";
  if (!/\.[\p{L}\p{N}]{1,10}$/u.test(name)) name += suffixOf(mimeType);
  return name.replace(/\.agentls\.md$/iu, ".md");
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** How contents are shown: as text, by an editor of VS Code's for images and sounds, or not at all. */
export type Shown = "text" | "media" | "binary";

export function shownAs(contents: readonly Content[]): Shown {
  if (contents.every((content) => content.blob === undefined)) return "text";
  return contents.length === 1 && isMedia(contents[0]!) ? "media" : "binary";
}

function isMedia(content: Content): boolean {
  const type = plainType(content.mimeType);
  return suffixOf(type) !== "" && /^(?:audio|image|video)\//u.test(type);
}

/** The contents as one file. Several texts follow each other, each under its URI; bytes among them are named. */
export function bytesOf(contents: readonly Content[]): Uint8Array {
  const [first] = contents;
  if (first !== undefined && contents.length === 1) {
    return first.blob === undefined ? new TextEncoder().encode(first.text ?? "") : Buffer.from(first.blob, "base64");
  }
  const parts = contents.map((content) => {
    const body = content.blob === undefined ? (content.text ?? "") : `(${describeBytes(content)})`;
    return `${oneLine(content.uri, 2000)}\n\n${body}`;
  });
  return new TextEncoder().encode(parts.join("\n\n"));
}

/** `application/zip, 12 kB`. */
export function describeBytes(content: Content): string {
  const bytes = content.blob === undefined ? 0 : Buffer.byteLength(content.blob, "base64");
  return `${oneLine(content.mimeType || "unknown type", 80)}, ${sizeOf(bytes)}`;
}

/** A size in bytes for a person. */
export function sizeOf(bytes: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let n = bytes;
  let unit = 0;
  while (n >= 999.5 && unit < units.length - 1) {
    n /= 1000;
    unit++;
  }
  return `${unit > 0 && n < 9.95 ? n.toFixed(1) : Math.round(n)} ${units[unit]!}`;
}
