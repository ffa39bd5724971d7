// VS Code as a process: the server build with the extension installed, and the browser that shows it.
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { get } from "node:http";
import { createServer } from "node:net";
import { join } from "node:path";
import { type Browser, chromium } from "playwright-core";
import { extensionFolder, required, type World } from "./world";

export interface VSCodeOptions {
  /** User settings; those of machine scope go where VS Code takes them from. `agentls.path` is set to the world's server. */
  settings?: Record<string, unknown>;
  /** Whether the workspace is trusted; it is. Else VS Code opens it in restricted mode. */
  trusted?: boolean;
  /**
   * Adds `--enable-smoke-test-driver`: extension-host tests need it (VS Code takes their payload only with it), and UI
   * tests must not have it: it suppresses every notification toast.
   */
  hostTests?: boolean;
}

const quiet = {
  "workbench.startupEditor": "none",
  "workbench.tips.enabled": false,
  "workbench.secondarySideBar.defaultVisibility": "hidden",
  "workbench.enableExperiments": false,
  "telemetry.telemetryLevel": "off",
  "extensions.autoCheckUpdates": false,
  "extensions.autoUpdate": false,
  "extensions.ignoreRecommendations": true,
  "update.mode": "none",
  "chat.disableAIFeatures": true,
  "chat.commandCenter.enabled": false,
  "editor.wordBasedSuggestions": "off",
  "editor.cursorBlinking": "solid",
  "git.enabled": false,
};

export class VSCode {
  readonly world: World;
  readonly folder: string;
  private readonly port: number;
  private readonly process: ChildProcess;

  private constructor(world: World, port: number, process: ChildProcess) {
    this.world = world;
    this.folder = join(world.dir, "vscode");
    this.port = port;
    this.process = process;
  }

  get host(): string {
    return `127.0.0.1:${this.port}`;
  }

  /** The page of the workbench with the project open; `payload` for extension-host tests. */
  url(payload?: [string, string][]): string {
    const query = payload ? `&payload=${encodeURIComponent(JSON.stringify(payload))}` : "";
    return `http://${this.host}/?folder=${this.world.project}${query}`;
  }

  static async start(world: World, options: VSCodeOptions = {}): Promise<VSCode> {
    const folder = join(world.dir, "vscode");
    const trusted = options.trusted ?? true;
    const trust = trusted
      ? { "security.workspace.trust.enabled": false }
      : { "security.workspace.trust.startupPrompt": "never" };
    const settings: Record<string, unknown> = { ...quiet, ...trust, "agentls.path": world.server, ...options.settings };
    const machine = Object.entries(settings).filter(([name]) => machineScoped().has(name));
    writeSettings(
      join(folder, "user", "User"),
      Object.entries(settings).filter(([name]) => !machineScoped().has(name)),
    );
    writeSettings(join(folder, "user", "Machine"), machine);
    const port = await freePort();
    const args = [
      ...["--host", "127.0.0.1", "--port", String(port), "--without-connection-token", "--accept-server-license-terms"],
      ...["--server-data-dir", join(folder, "data"), "--user-data-dir", join(folder, "user")],
      ...["--extensions-dir", options.hostTests ? join(folder, "extensions") : required("AGENTLS_EXTENSIONS")],
      ...["--telemetry-level", "off"],
      ...(trusted ? ["--disable-workspace-trust"] : []),
      ...(options.hostTests ? ["--enable-smoke-test-driver"] : []),
    ];
    const log = openSync(join(folder, "vscode.log"), "a");
    const child = spawn(required("VSCODE_NODE"), [join(required("VSCODE_FOLDER"), "out", "server-main.js"), ...args], {
      cwd: world.dir,
      detached: true, // a group of its own: extension hosts outlive the server that they belong to
      stdio: ["ignore", log, log],
      // A gallery without a URL is never asked.
      env: { ...process.env, ...world.env, EXTENSIONS_GALLERY: '{"serviceUrl":""}' },
    });
    closeSync(log);
    running.add(child);
    const vscode = new VSCode(world, port, child);
    for (const deadline = Date.now() + 30_000; (await status(port)) !== 200;) {
      if (child.exitCode !== null || Date.now() > deadline) throw new Error(`VS Code did not start:\n${vscode.log()}`);
      await new Promise((done) => setTimeout(done, 50));
    }
    return vscode;
  }

  /** What the server of VS Code printed. */
  log(): string {
    return readFileSync(join(this.folder, "vscode.log"), "utf8");
  }

  /** What the extension wrote into its output channels, by file name. */
  extensionLogs(): Record<string, string> {
    const logs = join(this.folder, "user", "logs");
    if (!existsSync(logs)) return {};
    const found = readdirSync(logs, { recursive: true, encoding: "utf8" }).filter((name) =>
      /exthost\d*[\\/].*\.log$/.test(name),
    );
    return Object.fromEntries(
      found.map((name) => [name.replace(/^.*exthost/, "exthost"), readFileSync(join(logs, name), "utf8")]),
    );
  }

  async stop(): Promise<void> {
    if (this.process.exitCode === null && this.process.signalCode === null) {
      const ended = new Promise((done) => this.process.once("exit", done));
      this.process.kill("SIGTERM");
      const late = setTimeout(() => this.process.kill("SIGKILL"), 10_000);
      await ended;
      clearTimeout(late);
    }
    endGroup(this.process);
  }
}

// Those whose groups may have processes left, also where a test is broken off.
const running = new Set<ChildProcess>();
process.once("exit", () => running.forEach(endGroup));
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130));

function endGroup(leader: ChildProcess): void {
  running.delete(leader);
  try {
    if (leader.pid !== undefined) process.kill(-leader.pid, "SIGKILL");
  } catch {
    // Nothing is left.
  }
}

// The settings that VS Code takes from the machine alone, by what the extension contributes.
function machineScoped(): Set<string> {
  const { contributes } = JSON.parse(readFileSync(join(extensionFolder, "package.json"), "utf8"));
  const groups: { properties?: Record<string, { scope?: string }> }[] = [contributes?.configuration ?? []].flat();
  const all = groups.flatMap((group) => Object.entries(group.properties ?? {}));
  return new Set(all.flatMap(([name, { scope }]) => (scope?.startsWith("machine") ? [name] : [])));
}

function writeSettings(folder: string, settings: [string, unknown][]): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "settings.json"), JSON.stringify(Object.fromEntries(settings), undefined, 2));
}

const freePort = () =>
  new Promise<number>((done, fail) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() =>
        address && typeof address === "object" ? done(address.port) : fail(new Error("no free port")),
      );
    });
  });

const status = (port: number) =>
  new Promise<number>((done) => {
    get(`http://127.0.0.1:${port}/`, (response) => done(response.resume().statusCode ?? 0)).on("error", () => done(0));
  });

/**
 * Chromium. Where AGENTLS_BROWSER_LOCK names a file, only one runs at a time: flock(1) holds it until this browser, or
 * this process, has ended.
 */
export async function launch(): Promise<{ browser: Browser; close: () => Promise<void> }> {
  const unlock = await lock(process.env["AGENTLS_BROWSER_LOCK"]);
  const args = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
  ];
  const browser = await chromium.launch({ executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium", args });
  return {
    browser,
    async close() {
      await browser.close();
      unlock();
    },
  };
}

async function lock(path: string | undefined): Promise<() => void> {
  if (!path) return () => undefined;
  const holder = spawn("flock", [path, "sh", "-c", "echo held; exec cat"], { stdio: ["pipe", "pipe", "inherit"] });
  await new Promise<void>((done, fail) => {
    holder.stdout.once("data", () => done());
    holder.once("error", fail).once("exit", (code) => fail(new Error(`flock ${path} ended with ${code}`)));
  });
  holder.unref();
  return () => holder.stdin.end();
}
