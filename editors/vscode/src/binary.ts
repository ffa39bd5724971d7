import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, isAbsolute, join } from "node:path";

/** Where the server's program comes from. Without vscode. */
export interface Binary {
  path: string;
  from: "setting" | "bundled" | "PATH";
}

export interface Places {
  /** The setting `agentls.path`; null or empty: unset. */
  setting: string | null;
  /** The extension's folder. */
  extension: string;
  env: NodeJS.ProcessEnv;
  platform: NodeJS.Platform;
}

/** The program was not found, or it is none. The message says what to do. */
export class BinaryError extends Error {
  override name = "BinaryError";
}

/** Finds the program: by the setting, then in the extension, then on PATH. */
export async function findBinary(places: Places): Promise<Binary> {
  const name = places.platform === "win32" ? "agentls.exe" : "agentls";
  const wish = places.setting?.trim() ?? "";
  if (wish !== "") return { path: await named(expand(wish, places.env), places), from: "setting" };
  const bundled = join(places.extension, "bin", name);
  if ((await fault(bundled)) === undefined) return { path: bundled, from: "bundled" };
  const onPath = await search(name, places.env);
  if (onPath !== undefined) return { path: onPath, from: "PATH" };
  throw new BinaryError(
    "The program agentls was not found: it is neither in the extension nor on PATH. Install it, or say where it is in the setting agentls.path.",
  );
}

/** `~/` and `${env:NAME}`, as people write paths into settings. */
function expand(path: string, env: NodeJS.ProcessEnv): string {
  const expanded = path.replace(/\$\{env:([^}]*)\}/gu, (_, name: string) => env[name] ?? "");
  return /^~(?=$|[/\\])/u.test(expanded) ? join(homedir(), expanded.slice(1)) : expanded;
}

async function named(path: string, places: Places): Promise<string> {
  if (!/[/\\]/u.test(path)) {
    const found = await search(path, places.env);
    if (found !== undefined) return found;
    throw new BinaryError(`agentls.path is ${path}, and there is no such program on PATH.`);
  }
  if (!isAbsolute(path)) {
    throw new BinaryError(`agentls.path is ${path}: it has to be an absolute path, or a name on PATH.`);
  }
  const wrong = await fault(path);
  if (wrong !== undefined) throw new BinaryError(`agentls.path is ${path}, and ${wrong}.`);
  return path;
}

async function search(name: string, env: NodeJS.ProcessEnv): Promise<string | undefined> {
  const key = Object.keys(env).find((k) => k.toUpperCase() === "PATH") ?? "PATH";
  for (const dir of (env[key] ?? "").split(delimiter)) {
    if (!isAbsolute(dir)) continue; // a relative one would mean what the folder brings
    const path = join(dir, name);
    if ((await fault(path)) === undefined) return path;
  }
  return undefined;
}

/** Why the file cannot be started; undefined: it can. */
async function fault(path: string): Promise<string | undefined> {
  try {
    const info = await stat(path);
    if (info.isDirectory()) return "that is a folder";
    await access(path, constants.X_OK);
    return undefined;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "ENOENT" || code === "ENOTDIR") return "there is no such file";
    if (code === "EACCES") return "that file is not executable";
    return `that file cannot be read (${code ?? "unknown"})`;
  }
}
