import { homedir } from "node:os";
import * as vscode from "vscode";
import type { Agentls } from "./agentls.js";
import { BinaryError, findBinary } from "./binary.js";
import { Client } from "./client.js";
import { offer, openPathSetting } from "./commands.js";
import { ServerProcess } from "./process.js";
import type { Commands, ServerNotifications, ServerRequests } from "./protocol.js";
import { Restarts } from "./restarts.js";
import { readLogLine } from "./serverlog.js";
import { setting } from "./settings.js";
import { messageOf, plain, ServerGone } from "./text.js";
import { outdated, readServed, unusable } from "./version.js";

export type ServerState = "starting" | "ready" | "restarting" | "failed" | "stopped" | "missing";

type Register = (client: Client) => vscode.Disposable;

/** How long the server may take to answer `initialize`, in milliseconds: it waits for nothing before it does. */
const startTime = 20_000;

/** One start: a connection and, once there is one, its process. */
interface Start {
  readonly client: Client;
  /** The program, once it is found. */
  path?: string;
  process?: ServerProcess;
}

/** Owns the server's process and the connection to it, from start to start. */
export class Server implements vscode.Disposable {
  /** Why it is not ready, a sentence; undefined while it is. */
  reason: string | undefined;
  /** More of the server's environment: keys that are kept for it. */
  environment: () => Promise<Record<string, string>> = () => Promise.resolve({});

  /** The client keeps one handler of a method: these share it. */
  readonly #notified = new Map<string, Set<(params: never) => void>>();
  readonly #changed = new vscode.EventEmitter<ServerState>();
  readonly onDidChange = this.#changed.event;
  readonly #handlers = new Map<Register, vscode.Disposable | undefined>();
  readonly #restarts = new Restarts(5, 3 * 60_000);
  #state: ServerState = "starting";
  #start: Start | undefined;
  #ready: Promise<Client> | undefined;

  constructor(readonly agentls: Agentls) {}

  get state(): ServerState {
    return this.#state;
  }

  get pid(): number | undefined {
    return this.#start?.process?.pid;
  }

  /** Starts it for the first time. begun: when activate() was entered, by performance.now(). */
  begin(begun: number): void {
    this.#begin("starting");
    const milliseconds = performance.now() - begun;
    this.startMilliseconds = milliseconds;
    this.agentls.log.info(`activate() to client.start(): ${milliseconds.toFixed(1)} ms`);
    this.ready().then(
      () => this.agentls.log.info(`activate() to ready: ${(performance.now() - begun).toFixed(0)} ms`),
      () => undefined, // told already
    );
  }

  /** From activate() to client.start(). */
  startMilliseconds: number | undefined;

  /** The connection, once the server is there; else rejects with a sentence for a person. */
  ready(): Promise<Client> {
    return this.#ready ?? Promise.reject(new Error(this.reason ?? "The agentls server does not run. Restart it."));
  }

  async command<K extends keyof Commands>(
    name: K,
    argument: Commands[K]["argument"],
    token?: vscode.CancellationToken,
  ): Promise<Commands[K]["result"]> {
    return await this.request("workspace/executeCommand", { command: name, arguments: [argument] }, token);
  }

  async request<R>(method: string, params: unknown, token?: vscode.CancellationToken): Promise<R> {
    const client = await this.ready();
    try {
      return await (token === undefined
        ? client.sendRequest<R>(method, params)
        : client.sendRequest<R>(method, params, token));
    } catch (error) {
      if (this.#start?.client === client && client.isRunning()) throw error;
      throw new ServerGone({ cause: error });
    }
  }

  /** Kept across restarts. */
  onRequest<M extends keyof ServerRequests>(
    method: M,
    handler: (
      params: ServerRequests[M]["params"],
      token: vscode.CancellationToken,
    ) => ServerRequests[M]["result"] | Promise<ServerRequests[M]["result"]>,
  ): vscode.Disposable {
    return this.#register((client) =>
      client.onRequest(method, (params: ServerRequests[M]["params"], token: vscode.CancellationToken) =>
        Promise.resolve(handler(params, token)),
      ),
    );
  }

  /** Kept across restarts. */
  onNotification<M extends keyof ServerNotifications>(
    method: M,
    handler: (params: ServerNotifications[M]) => void,
  ): vscode.Disposable {
    let all = this.#notified.get(method);
    if (all === undefined) {
      const handlers = (all = new Set<(params: never) => void>());
      this.#notified.set(method, all);
      this.#register((client) =>
        client.onNotification(method, (params: unknown) => {
          for (const each of handlers) each(params as never);
        }),
      );
    }
    const handlers = all.add(handler);
    return new vscode.Disposable(() => handlers.delete(handler));
  }

  /**
   * Ends what runs and starts anew; resolves once that has worked or failed, which is told here. One after another:
   * two at a time would leave a process behind.
   */
  restart(): Promise<void> {
    const restarted = this.#restarted.then(() => this.#restart());
    this.#restarted = restarted.catch(() => undefined);
    return restarted;
  }

  #restarted = Promise.resolve();

  async #restart(): Promise<void> {
    await this.stop();
    this.#restarts.clear();
    this.#begin("starting");
    await this.ready().catch(() => undefined);
  }

  /** Ends it as LSP has it: shutdown, exit, and no process is left. */
  async stop(): Promise<void> {
    const start = this.#start;
    this.#start = this.#ready = undefined;
    this.#set("stopped", "The agentls server was stopped. Restart it.");
    if (start !== undefined) await this.#end(start);
  }

  dispose(): void {
    this.#changed.dispose();
  }

  #register(register: Register): vscode.Disposable {
    this.#handlers.set(register, this.#start === undefined ? undefined : register(this.#start.client));
    return new vscode.Disposable(() => {
      this.#handlers.get(register)?.dispose();
      this.#handlers.delete(register);
    });
  }

  #begin(state: "starting" | "restarting"): void {
    const start: Start = {
      client: new Client(this.agentls, {
        spawn: async () => (await this.#spawn(start)).child,
        stderr: (line) => this.#heard(start, line),
        closed: () => void start.process?.end(), // its end is what counts
      }),
    };
    this.#start = start;
    for (const register of this.#handlers.keys()) this.#handlers.set(register, register(start.client));
    this.#set(state, "The agentls server is starting.");
    this.#ready = this.#run(start);
    this.#ready.catch(() => undefined); // told by #failed
  }

  async #run(start: Start): Promise<Client> {
    try {
      await inTime(start.client.start(), () => `${start.path ?? "It"} did not answer. Is it agentls?`);
      const served = readServed(start.client.initializeResult);
      const wrong = unusable(start.path ?? "", served);
      if (wrong !== undefined) throw new StartError(wrong);
      if (this.#start !== start) throw new Error("The agentls server was stopped.");
      this.agentls.log.info(`The server is agentls ${served.version ?? "of an unknown version"}.`);
      const old = outdated(start.path ?? "", served, this.agentls.version);
      if (old !== undefined) {
        this.agentls.log.warn(old);
        void offer("warning", plain(old), { "Open Settings": openPathSetting });
      }
      this.#set("ready", undefined);
      return start.client;
    } catch (error) {
      throw await this.#failed(start, error);
    }
  }

  async #spawn(start: Start): Promise<ServerProcess> {
    const { context, log } = this.agentls;
    const binary = await findBinary({
      setting: setting("path"),
      extension: context.extensionPath,
      env: process.env,
      platform: process.platform,
    });
    start.path = binary.path;
    const env = { ...process.env, ...(await this.environment()) };
    const cwd = vscode.workspace.workspaceFolders?.find((f) => f.uri.scheme === "file")?.uri.fsPath ?? homedir();
    if (this.#start !== start) throw new Error("The agentls server was stopped.");
    const child = await ServerProcess.start(binary.path, { cwd, env });
    log.info(`Started ${binary.path} (${binary.from}), process ${child.pid ?? 0}.`);
    start.process = child;
    void child.ended.then((how) => this.#exited(start, how));
    return child;
  }

  #heard(start: Start, line: string): void {
    start.process?.heard(line);
    const { level, text } = readLogLine(line);
    this.agentls.log[level](text);
  }

  /** What a start that failed is to a person. */
  async #failed(start: Start, error: unknown): Promise<Error> {
    // A process that ends at once is first seen by a pipe that broke.
    const exited = !(error instanceof StartError) && (await start.process?.endsWithin(1000)) === true;
    await this.#end(start);
    if (this.#start !== start) return new Error("The agentls server was stopped.");
    this.#start = this.#ready = undefined;
    this.agentls.log.error(messageOf(error));
    if (error instanceof BinaryError) {
      this.#set("missing", plain(error.message));
      this.#offer("error", { "Open Settings": openPathSetting });
    } else {
      const why = exited ? (start.process?.lastWords ?? "it ended at once and said nothing.") : messageOf(error);
      this.#set("failed", plain(`The agentls server did not start: ${why}`, 400));
      this.#offer("error", { "Restart Server": () => this.restart() });
    }
    return new Error(this.reason);
  }

  #exited(start: Start, how: string): void {
    if (this.#start !== start) return; // it was stopped
    this.agentls.log.error(`The server ended: ${how}.`);
    if (this.#state !== "ready") return; // its start fails
    this.#start = this.#ready = undefined;
    void this.#end(start);
    if (!this.#restarts.allows(Date.now())) {
      this.#set("failed", `The agentls server ended too often (${how}). It is not started again by itself.`);
      this.#offer("error", { "Restart Server": () => this.restart() });
      return;
    }
    this.#set("restarting", `The agentls server ended (${how}).`);
    this.#begin("restarting");
    void this.ready().then(
      () =>
        void offer("warning", `The agentls server ended (${how}) and was started again. What ran has ended.`, {
          "Show Log": () => this.agentls.log.show(true),
        }),
      () => undefined, // told by #failed
    );
  }

  /** Ends a connection and its process, in whatever state they are. */
  async #end(start: Start): Promise<void> {
    try {
      if (start.client.isRunning()) await start.client.stop();
    } catch (error) {
      this.agentls.log.warn(messageOf(error));
    }
    await start.process?.end();
  }

  #offer(kind: "error" | "warning", help: Record<string, () => unknown>): void {
    void offer(kind, this.reason ?? "", { ...help, "Show Log": () => this.agentls.log.show(true) });
  }

  #set(state: ServerState, reason: string | undefined): void {
    this.reason = reason;
    this.#state = state;
    void vscode.commands.executeCommand("setContext", "agentls.serverState", state);
    this.#changed.fire(state);
  }
}

/** It runs, but cannot be used: the message says why. */
class StartError extends Error {}

/** Rejects with words where the promise takes longer than {@link startTime}. */
async function inTime<T>(promise: Promise<T>, words: () => string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new StartError(words())), startTime);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
