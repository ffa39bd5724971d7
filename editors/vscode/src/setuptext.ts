/** What there is to set up, as rows of a list. Without vscode. */
import type { Found, Preset } from "./protocol.js";
import { label } from "./text.js";
import { plural } from "./when.js";

/** What a person picks first. */
export type SetupChoice =
  | { kind: "found" | "newKey"; found: Found }
  | { kind: "preset"; preset: Preset }
  | { kind: "other" }
  | { kind: "keys" };

export interface SetupRow {
  label: string;
  description?: string;
  detail?: string;
  choice: SetupChoice;
  /** The variable whose key can be given anew. */
  keyVariable?: string;
}

export interface SetupGroup {
  heading: string;
  rows: SetupRow[];
}

/** All that can be set up: what was found, what is known besides, and what is typed. kept: the variables whose keys VS Code holds. */
export function setupGroups(
  found: readonly Found[],
  presets: readonly Preset[],
  kept: readonly string[],
): SetupGroup[] {
  const rest = presets.filter((p) => !found.some((f) => f.provider === p.provider));
  const services = rest.filter((p) => p.keyVariables !== undefined);
  const programs = rest.filter((p) => p.keyVariables === undefined);
  const last: SetupRow[] = [
    {
      label: "$(plug) Another endpoint…",
      detail: "Any address with OpenAI-compatible chat completions",
      choice: { kind: "other" },
    },
  ];
  if (kept.length > 0) {
    last.push({ label: "$(key) Keys kept here…", description: plural(kept.length, "key"), choice: { kind: "keys" } });
  }
  return [
    { heading: "Found", rows: found.map((f) => foundRow(f, presets, kept)) },
    { heading: "Services, with a key of yours", rows: services.map(presetRow) },
    { heading: "Programs on this machine", rows: programs.map(presetRow) },
    { heading: "More", rows: last },
  ].filter((group) => group.rows.length > 0);
}

function foundRow(found: Found, presets: readonly Preset[], kept: readonly string[]): SetupRow {
  const words = [found.error === undefined ? plural(found.models.length, "model") : "does not tell its models"];
  if (found.inForce === true) words.unshift(found.model === undefined ? "in force" : `${found.model} in force`);
  const variable = keyVariable(found, presets);
  if (variable !== undefined) words.push(kept.includes(variable) ? "key kept here" : variable);
  const row: SetupRow = {
    label: `${found.error === undefined ? "$(check)" : "$(warning)"} ${label(found.title, 100)}`,
    description: label(words.join(" · ")),
    detail: label(found.error ?? found.baseURL),
    choice: { kind: "found", found },
  };
  if (variable !== undefined) row.keyVariable = variable;
  return row;
}

function presetRow(preset: Preset): SetupRow {
  const row: SetupRow = { label: label(preset.title), choice: { kind: "preset", preset } };
  const words = preset.baseURL ?? "the address of your own resource";
  row.description = preset.keyVariables === undefined ? `${words} · not running` : words;
  return row;
}

/** The variable that holds a provider's key; undefined: it wants none, or the configuration holds it. */
export function keyVariable(found: Found, presets: readonly Preset[]): string | undefined {
  return found.keyVariable ?? presets.find((p) => p.provider === found.provider)?.keyVariables?.[0];
}

/** A variable for the key of an endpoint that nobody knows, by its host. */
export function variableOf(baseURL: string): string {
  const host = new URL(baseURL).hostname.toUpperCase().replace(/[^A-Z0-9]+/gu, "_");
  return `AGENTLS_${host.replace(/^_+|_+$/gu, "")}_API_KEY`;
}

/** Why an address cannot be one; undefined: it can. */
export function addressProblem(text: string): string | undefined {
  let url: URL;
  try {
    url = new URL(text.trim());
  } catch {
    return "Type the whole address, such as http://127.0.0.1:8080/v1.";
  }
  if (url.protocol !== "https:" && url.protocol !== "http:") return "It has to begin with https:// or http://.";
  if (url.username !== "" || url.password !== "") return "Leave name and password out: the key is asked for next.";
  return url.hostname === "" ? "It has no host." : undefined;
}

/** Why a text cannot be a key; undefined: it can. */
export function keyProblem(text: string): string | undefined {
  if (text.trim() === "") return "Paste the key.";
  // eslint-disable-next-line no-control-regex -- a header cannot hold them
  return /[\u0000-\u0020\u007f-\uffff]/u.test(text.trim())
    ? "A key has no spaces and only plain characters."
    : undefined;
}
