/** Whether a server fits this extension. Without vscode. */

/** What the server must be able to do (CONTRACT §3, experimental.agentls.features). */
export const neededFeatures = ["approvals", "diagnostics", "runEvents", "save"];

export interface Served {
  name: string | undefined;
  /** `1.2.3`, or what a build without a tag is called. */
  version: string | undefined;
  features: readonly string[];
}

/** Reads the answer to initialize as far as it can be understood. */
export function readServed(result: unknown): Served {
  const { serverInfo, capabilities } = record(result);
  const { name, version } = record(serverInfo);
  const { features } = record(record(record(capabilities)["experimental"])["agentls"]);
  return {
    name: typeof name === "string" ? name : undefined,
    version: typeof version === "string" ? version : undefined,
    features: Array.isArray(features) ? features.filter((f) => typeof f === "string") : [],
  };
}

/** Why the server cannot be used at all, a sentence; undefined: it can. */
export function unusable(path: string, served: Served): string | undefined {
  if (served.name === "agentls") return undefined;
  return `${path} is not agentls${served.name === undefined ? "" : ` but ${served.name}`}.`;
}

/** What a person should know of the server's version, a sentence; undefined: nothing. */
export function outdated(path: string, served: Served, extension: string): string | undefined {
  const missing = neededFeatures.filter((f) => !served.features.includes(f));
  const version = served.version ?? "of an unknown version";
  if (missing.length > 0) {
    return `${path} is agentls ${version}, which is too old for this extension: it lacks ${missing.join(", ")}. Update it.`;
  }
  const [theirs, ours] = [parse(served.version), parse(extension)];
  if (theirs === undefined || ours === undefined || theirs >= ours) return undefined;
  return `${path} is agentls ${version}, older than the extension (${extension}): some things may not work. Update it.`;
}

/** Major and minor of a release as one number. Other builds have none: where they stand between releases is not known. */
function parse(version: string | undefined): number | undefined {
  const found = /^v?(\d+)\.(\d+)\.\d+$/u.exec(version ?? "");
  return found === null ? undefined : Number(found[1]) * 1e6 + Number(found[2]);
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}
