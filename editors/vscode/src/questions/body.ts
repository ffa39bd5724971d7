/** What a question's card holds between its title and its buttons. Without vscode and DOM. */
import { isObject } from "./answer.js";
import type { Question } from "./question.js";
import { commandOf, isReview, trusts } from "./words.js";

/** A part of a card. `text`: a sentence; `value`: what a name stands for; `block`: a text of lines, as it is. */
export type Part =
  | { kind: "text"; text: string; tone?: "warning" }
  | { kind: "value"; label: string; value: string }
  | { kind: "block"; label: string; text: string }
  | { kind: "list"; label: string; items: string[] };

/** The parts of a question that say what will be done; the arguments of a tool are parts too. */
export function parts(q: Question): Part[] {
  switch (q.kind) {
    case "trust":
      return { server: trustServer, change: trustChange, folder: trustFolder }[trusts(q)](q);
    case "sample":
      return isReview(q) ? [block("The model's answer", argument(q, "text"))] : sample(q);
    case "elicit":
    case "input":
    case "plan":
      return [];
    case "tool":
      return tool(q);
  }
}

function tool(q: Question): Part[] {
  const command = commandOf(q);
  if (command === undefined) return args(q.arguments);
  const rest = { ...(q.arguments as Record<string, unknown>) };
  delete rest["command"];
  delete rest["cwd"];
  return [
    block("Command", command.command),
    ...(command.cwd === undefined ? [] : [value("In", command.cwd)]),
    ...args(rest),
  ];
}

/** Arguments by name: what has lines stays as it is, all else is JSON. */
export function args(args: unknown): Part[] {
  if (!isObject(args)) return args === undefined || args === null ? [] : [block("Arguments", json(args))];
  return Object.entries(args).map(([name, v]) => argumentPart(name, v));
}

function argumentPart(name: string, v: unknown): Part {
  if (typeof v === "string") return v.includes("\n") || v.length > 120 ? block(name, v) : value(name, v);
  const text = json(v);
  return text.includes("\n") ? block(name, text) : value(name, text);
}

/** JSON on one line where it is short. */
export function json(v: unknown): string {
  const short = JSON.stringify(v) as string | undefined; // undefined has no JSON
  if (short === undefined) return "";
  return short.length <= 80 ? short : JSON.stringify(v, null, 2);
}

function trustServer(q: Question): Part[] {
  const info = isObject(q.arguments) ? q.arguments : {};
  const d = isObject(info["definition"]) ? info["definition"] : {};
  return [
    ...optional("From", info["source"]),
    ...definition(d),
    ...list("Reads the variables", strings(info["reads"])),
  ];
}

/** All that a server is started with, whole. */
function definition(d: Record<string, unknown>): Part[] {
  return [
    ...(text(d["command"]) === ""
      ? []
      : [block("Runs", [text(d["command"]), ...strings(d["args"])].map(word).join(" "))]),
    ...optional("In", d["cwd"]),
    ...optional("Connects to", d["url"]),
    ...list("Sets", assignments(d["env"])),
    ...optional("Sets what is in", d["envFile"]),
    ...list("Sends the headers", assignments(d["headers"])),
  ];
}

/** A word of a command line, quoted where it could be read as several, or as none. */
export function word(text: string): string {
  return /^[\w@%+=:,./${}-]+$/.test(text) ? text : JSON.stringify(text);
}

function trustChange(q: Question): Part[] {
  const a = isObject(q.arguments) ? q.arguments : {};
  const starts = isObject(a["starts"]) ? Object.entries(a["starts"]) : [];
  return [
    ...list("Files", strings(a["files"])),
    ...list("Lets more happen", strings(a["widened"])),
    ...list("Servers added", strings(a["serversAdded"])),
    ...list("Servers changed", strings(a["serversChanged"])),
    ...list("Servers removed", strings(a["serversRemoved"])),
    ...list("Settings", strings(a["settings"])),
    ...starts.flatMap(([name, d]) => [
      { kind: "text" as const, text: `The server ${name} will start:` },
      ...definition(isObject(d) ? d : {}),
    ]),
  ];
}

function trustFolder(q: Question): Part[] {
  return [
    ...list("Folder", isObject(q.arguments) ? strings(q.arguments["folders"]) : []),
    {
      kind: "text",
      text:
        "Its project files may name programs to start; each of them is asked about on its own. " +
        "git shows changes in it, and its AGENTS.md tells the agent how to work.",
    },
  ];
}

/** What a server wants to ask the model: MCP's params of sampling/createMessage. */
function sample(q: Question): Part[] {
  const a = isObject(q.arguments) ? q.arguments : {};
  const hints = isObject(a["modelPreferences"]) ? a["modelPreferences"]["hints"] : undefined;
  const names = Array.isArray(hints) ? hints.flatMap((h) => (isObject(h) ? [text(h["name"])] : [])) : [];
  const messages = Array.isArray(a["messages"]) ? a["messages"] : [];
  return [
    ...(text(a["systemPrompt"]) === "" ? [] : [block("system", text(a["systemPrompt"]))]),
    ...messages.map((m): Part =>
      isObject(m) ? block(text(m["role"]) || "message", content(m["content"])) : block("message", json(m)),
    ),
    ...(typeof a["maxTokens"] === "number" ? [value("At most", `${a["maxTokens"]} tokens`)] : []),
    ...(names.length > 0 ? [value("It would like", names.join(", "))] : []),
  ];
}

/** The text of a message; what is none is named. */
function content(c: unknown): string {
  if (Array.isArray(c)) return c.map(content).join("\n");
  if (!isObject(c)) return typeof c === "string" ? c : json(c);
  if (c["type"] === "text") return text(c["text"]);
  const mime = text(c["mimeType"]);
  return typeof c["data"] === "string" ? `[${text(c["type"])} ${mime}]` : json(c);
}

function argument(q: Question, name: string): string {
  return isObject(q.arguments) ? text(q.arguments[name]) : "";
}

const text = (v: unknown): string => (typeof v === "string" ? v : "");
const strings = (v: unknown): string[] => (Array.isArray(v) ? v.map((s) => (typeof s === "string" ? s : json(s))) : []);
const assignments = (v: unknown): string[] =>
  isObject(v) ? Object.entries(v).map(([name, to]) => `${name}=${typeof to === "string" ? to : json(to)}`) : [];
const value = (label: string, text: string): Part => ({ kind: "value", label, value: text });
const block = (label: string, text: string): Part => ({ kind: "block", label, text });
const optional = (label: string, v: unknown): Part[] => (text(v) === "" ? [] : [value(label, text(v))]);
const list = (label: string, items: string[]): Part[] => (items.length === 0 ? [] : [{ kind: "list", label, items }]);

/** Why arguments cannot be edited as text; undefined: they can. */
export function uneditable(v: unknown): string | undefined {
  if (!isObject(v)) return "These arguments are no object, so they cannot be edited.";
  return hasLargeNumber(v) ? "They hold a number that is too large to be edited here without changing it." : undefined;
}

function hasLargeNumber(v: unknown): boolean {
  if (typeof v === "number") return Number.isInteger(v) && !Number.isSafeInteger(v);
  if (typeof v !== "object" || v === null) return false;
  return Object.values(v).some(hasLargeNumber);
}

/** Reads arguments that a person edited: an object, or what is wrong, a sentence. */
export function readArguments(text: string): Record<string, unknown> | string {
  let v: unknown;
  try {
    v = JSON.parse(text);
  } catch (error) {
    return `This is no JSON yet: ${error instanceof Error ? error.message : String(error)}. Mend it, or take the edit back.`;
  }
  if (!isObject(v)) return "The arguments must be a JSON object: {…}.";
  return hasLargeNumber(v) ? "A number in it is too large to be sent as it stands." : v;
}
