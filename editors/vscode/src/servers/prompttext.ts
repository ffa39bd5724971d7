/** What an MCP prompt says, for a person to read. Without vscode. */
import type { PromptContent, PromptMessages } from "../protocol.js";
import { oneLine } from "../text.js";
import { describeBytes } from "./resourcename.js";

/** The messages of a prompt as a document: each under its role. */
export function promptText({ description, messages }: PromptMessages): string {
  const about = oneLine(description ?? "", 1000);
  const parts = messages.map(
    ({ role, contents }) => `## ${oneLine(role, 40)}\n\n${contents.map(contentText).join("\n\n")}`,
  );
  return [...(about === "" ? [] : [about]), ...parts].join("\n\n") + "\n";
}

function contentText(content: PromptContent): string {
  const { type, name, uri, mimeType, text, blob, title } = content;
  const from =
    uri === undefined
      ? ""
      : `[${[title ?? name, uri]
          .filter(Boolean)
          .map((t) => oneLine(t!, 500))
          .join(" · ")}]`;
  if (text !== undefined && text !== "") return from === "" ? text : `${from}\n\n${text}`;
  const bytes = blob === undefined ? "" : describeBytes({ uri: uri ?? "", mimeType: mimeType ?? "", blob });
  return (
    [from, bytes === "" ? "" : `(${oneLine(type, 40)}: ${bytes})`].filter((part) => part !== "").join(" ") ||
    `(${oneLine(type, 40)})`
  );
}

/** What was asked, in a line: names the prompt and its arguments. */
export function promptLine(mention: string, name: string, given: Record<string, string>): string {
  const values = Object.entries(given).map(([key, value]) => `${oneLine(key, 60)}=${oneLine(value, 60)}`);
  return [`/${mention}:${oneLine(name, 100)}`, ...values].join(" ");
}
