// What a test runs in, apart from VS Code: a project that is a git repository, a scripted provider, MCP servers, the
// user's configuration and state, and the real server behind a wiretap. Everything is in one folder of its own.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";

/** editors/vscode, wherever the tests were built to. */
export const extensionFolder = required("AGENTLS_EXTENSION");
const fixtures = join(extensionFolder, "..", "testing");

export function required(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: start the tests by test/run.sh`);
  return value;
}

export interface WorldOptions {
  /** Files of the project by their path; more than the two that every project has. */
  files?: Record<string, string>;
  /** Whether the project is a git repository with one commit; it is. */
  git?: boolean;
  /** Whether the scripted provider is configured, as "test"; it is. */
  provider?: boolean;
  /** MCP servers of the user's configuration; else one, "test", which is editors/testing/mcp.mjs. */
  mcp?: Record<string, unknown>;
  /** More members of the user's configuration. */
  config?: Record<string, unknown>;
  /** More environment for VS Code, and so for the server. */
  env?: Record<string, string>;
}

/** A JSON-RPC message that went between the extension and the server, in order. */
export interface Message {
  from: "editor" | "server";
  id?: number | string;
  method?: string;
  params?: any;
  result?: any;
  error?: { code: number; message: string; data?: unknown };
}

export class World {
  readonly dir: string;
  readonly project: string;
  /** The server with its wiretap, for `agentls.path`. */
  readonly server: string;
  readonly env: Record<string, string>;
  private provider: ChildProcess | undefined;

  private constructor(dir: string) {
    this.dir = dir;
    this.project = join(dir, "project");
    this.server = join(dir, "server", "agentls");
    this.env = {
      HOME: dir,
      XDG_CONFIG_HOME: join(dir, "config"),
      XDG_STATE_HOME: join(dir, "state"),
      XDG_DATA_HOME: join(dir, "data"),
      XDG_CACHE_HOME: join(dir, "cache"),
    };
  }

  /** The world that an extension-host test runs in. */
  static here(): World {
    return new World(required("AGENTLS_WORLD"));
  }

  static async make(options: WorldOptions = {}): Promise<World> {
    const world = new World(realpathSync(mkdtempSync(join(process.env["AGENTLS_SCRATCH"] ?? tmpdir(), "world-"))));
    Object.assign(world.env, options.env);
    const files = {
      "world.txt": "the first line\nthe second line\n",
      "main.go": "package main\n\nfunc main() {}\n",
      ...options.files,
    };
    for (const [name, text] of Object.entries(files)) world.write(name, text);
    if (options.git ?? true) {
      world.git("init", "--quiet", "--initial-branch=main");
      world.git("add", "--all");
      world.git("commit", "--quiet", "--message=First");
    }
    const quoted = [
      process.execPath,
      join(extensionFolder, "test", "driver", "wiretap.mjs"),
      join(world.dir, "wire.log"),
      required("AGENTLS_BIN"),
    ].map((each) => `'${each}'`);
    write(world.server, `#!/bin/sh\nexec ${quoted.join(" ")} "$@"\n`);
    chmodSync(world.server, 0o755);
    const config: Record<string, unknown> = {
      mcpServers: options.mcp ?? {
        test: { command: process.execPath, args: [join(fixtures, "mcp.mjs"), join(world.dir, "mcp.log")] },
      },
    };
    if (options.provider ?? true) {
      const baseURL = `http://127.0.0.1:${await world.startProvider()}/v1`;
      Object.assign(config, { provider: "test", providers: { test: { baseURL, apiKey: "none", model: "test" } } });
    }
    world.configure({ ...config, ...options.config });
    return world;
  }

  /** Writes the user's configuration, whole. */
  configure(config: unknown): void {
    write(
      join(this.dir, "config", "agentls", "config.json"),
      typeof config === "string" ? config : JSON.stringify(config, undefined, 2),
    );
  }

  /** The user's configuration as it is now. */
  configuration(): any {
    return JSON.parse(readFileSync(join(this.dir, "config", "agentls", "config.json"), "utf8"));
  }

  write(name: string, text: string): void {
    write(join(this.project, name), text);
  }

  read(name: string): string {
    return readFileSync(join(this.project, name), "utf8");
  }

  git(...args: string[]): string {
    const identity = ["-c", "user.name=Test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false"];
    return execFileSync("git", [...identity, ...args], {
      cwd: this.project,
      encoding: "utf8",
      env: { ...process.env, ...this.env, GIT_CONFIG_NOSYSTEM: "1" },
    });
  }

  /** The bodies of the requests to the provider. */
  requests(): any[] {
    return lines(join(this.dir, "provider.log")).flatMap((entry) => (entry.request ? [entry.request] : []));
  }

  /** How many requests to the provider were broken off by the server. */
  hungUp(): number {
    return lines(join(this.dir, "provider.log")).filter((entry) => entry.closed).length;
  }

  /** The params of what the MCP server "test" got by a method. */
  received(method: string): any[] {
    return lines(join(this.dir, "mcp.log")).flatMap((entry) => (entry.method === method ? [entry.params] : []));
  }

  /** What the extension and the server said to each other. */
  wire(): Message[] {
    return lines(join(this.dir, "wire.log")).flatMap((entry) =>
      entry.message ? [{ from: entry.from, ...entry.message }] : [],
    );
  }

  /** What one side sent of a method. */
  sent(from: Message["from"], method: string): Message[] {
    return this.wire().filter((message) => message.from === from && message.method === method);
  }

  /** The response to a request. */
  response(request: Message): Message | undefined {
    return this.wire().find(
      (message) => message.from !== request.from && message.id === request.id && message.method === undefined,
    );
  }

  /** Process ids of the servers that were started, the living ones with their wiretap last. */
  servers(): number[] {
    return lines(join(this.dir, "wire.log")).flatMap((entry) => (entry.pid ? [entry.pid] : []));
  }

  /** What the server wrote into its own log. */
  serverLog(): string {
    const file = join(this.dir, "state", "agentls", "log", "agentls.log");
    return existsSync(file) ? readFileSync(file, "utf8") : "";
  }

  private async startProvider(): Promise<number> {
    const child = spawn(process.execPath, [join(fixtures, "provider.mjs"), join(this.dir, "provider.log")], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.provider = child;
    for await (const line of createInterface({ input: child.stdout })) return Number(line);
    throw new Error("the scripted provider did not start");
  }

  /** Ends what runs. The folder stays where the audits in it are looked at when all is over. */
  async close(): Promise<void> {
    const provider = this.provider;
    if (provider?.exitCode === null) {
      const ended = new Promise((done) => provider.once("exit", done));
      provider.stdin?.end();
      await ended;
    }
    if (!process.env["AGENTLS_SCRATCH"]) rmSync(this.dir, { recursive: true, force: true, maxRetries: 5 });
  }
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

// The entries of a log of JSON lines; the last one may be half there.
function lines(path: string): any[] {
  if (!existsSync(path)) return [];
  const text = readFileSync(path, "utf8");
  return text
    .slice(0, text.lastIndexOf("\n") + 1)
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}
