import { spawn, type ChildProcess } from "node:child_process";
import { homedir } from "node:os";
import * as vscode from "vscode";
import type { Agentls } from "./agentls.js";
import { BinaryError, findBinary } from "./binary.js";
import { Client } from "./client.js";
import { offer } from "./commands.js";
import type { Commands, ServerNotifications, ServerRequests } from "./protocol.js";
import { Restarts } from "./restarts.js";
import { setting } from "./settings.js";
import { messageOf, plain } from "./text.js";

export type ServerState = "starting" | "ready" | "restarting" | "failed" | "stopped" | "missing";

type Register = (client: Client) => vscode.Disposable;

/** Owns the server's process and the connection to it, from start to start. */
export class Server implements vscode.Disposable {
  /** Why it is not ready, a sentence; undefined while it is. */
  reason: string | undefined;
  /** More of the server's environment: keys that are kept for it. */
  environment: () => Promise<Record<string, string>> = () => Promise.resolve({});

  readonly #changed = new vscode.EventEmitter<ServerState>();
  readonly onDidChange = this.#changed.event;
  readonly #handlers = new Map<Register, vscode.Disposable | undefined>();
  readonly #restarts = new Restarts(5, 3 * 60_000);
  #state: ServerState = "starting";
  #client: Client | undefined;
  #process: ChildProcess | undefined;
  #last: string[] = []; // of its stderr
  #started: Promise<Client> | undefined;

  constructor(readonly agentls: Agentls) {}

  get state(): ServerState {
    return this.#state;
  }

  /** The process that serves, for tests and for the log. */
  get pid(): number | undefined {
    return this.#process?.pid;
  }

  /** Starts it for the first time. begun: when activate() was entered, by performance.now(). */
  begin(begun: number): void {
    this.#start("starting");
    const milliseconds = (performance.now() - begun).toFixed(1);
    this.agentls.log.info(`activate() to client.start(): ${milliseconds} ms`);
  }

  /** The connection, once the server is there; else rejects with a sentence for a person. */
  ready(): Promise<Client> {
    return this.#started ?? Promise.reject(new Error(this.reason ?? "The agentls server does not run. Restart it."));
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
      if (this.#client === client && client.isRunning()) throw error;
      throw new Error("The agentls server ended before it answered.", { cause: error });
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
    return this.#register((client) => client.onNotification(method, handler));
  }

  async restart(): Promise<void> {
    await this.stop();
    this.#restarts.clear();
    this.#start("starting");
    await this.ready();
  }

  /** Ends it as LSP has it: shutdown, exit, and no process is left. */
  async stop(): Promise<void> {
    const client = this.#client;
    const child = this.#process;
    this.#client = this.#process = this.#started = undefined;
    this.#set("stopped", "The agentls server was stopped. Restart it.");
    try {
      await client?.stop();
    } catch (error) {
      this.agentls.log.warn(messageOf(error));
    }
    child?.stdin?.end(); // its end ends the server, whatever state it is in
  }

  dispose(): void {
    this.#changed.dispose();
  }

  #register(register: Register): vscode.Disposable {
    this.#handlers.set(register, this.#client === undefined ? undefined : register(this.#client));
    return new vscode.Disposable(() => {
      this.#handlers.get(register)?.dispose();
      this.#handlers.delete(register);
    });
  }

  #start(state: "starting" | "restarting"): void {
    this.#last = [];
    const client: Client = new Client(
      this.agentls,
      () => this.#spawn(client),
      (line) => this.#heard(line),
    );
    this.#client = client;
    for (const register of this.#handlers.keys()) this.#handlers.set(register, register(client));
    this.#set(state, "The agentls server is starting.");
    this.#started = client.start().then(
      () => {
        if (this.#client === client) this.#set("ready", undefined);
        return client;
      },
      (error: unknown) => {
        throw this.#failed(client, error);
      },
    );
    this.#started.catch(() => undefined); // told by #failed
  }

  async #spawn(client: Client): Promise<ChildProcess> {
    const { context, log } = this.agentls;
    const binary = await findBinary({
      setting: setting("path"),
      extension: context.extensionPath,
      env: process.env,
      platform: process.platform,
    });
    const env = { ...process.env, ...(await this.environment()) };
    const cwd = vscode.workspace.workspaceFolders?.find((f) => f.uri.scheme === "file")?.uri.fsPath ?? homedir();
    log.info(`Starting ${binary.path} (${binary.from}).`);
    const child = spawn(binary.path, [], { cwd, env, stdio: "pipe" });
    await new Promise<void>((resolve, reject) => {
      child.once("spawn", resolve);
      child.once("error", reject);
    });
    child.stdin.on("error", () => undefined); // it ended: its exit is what counts
    child.once("exit", (code, signal) => this.#exited(client, signal ?? `exit code ${code ?? "unknown"}`));
    this.#process = child;
    return child;
  }

  #heard(line: string): void {
    this.#last = [...this.#last, line].slice(-20);
    this.agentls.log.info(line);
  }

  /** What a start that failed is to a person. */
  #failed(client: Client, error: unknown): Error {
    if (this.#client !== client) return new Error("The agentls server was stopped.");
    this.#client = this.#started = undefined;
    this.#process?.stdin?.end();
    this.#process = undefined;
    const log = { "Show Log": () => this.agentls.log.show(true) };
    if (error instanceof BinaryError) {
      this.#set("missing", plain(error.message));
      void offer("error", plain(error.message), { "Open Settings": openPathSetting, ...log });
    } else {
      const last = this.#last.at(-1);
      this.#set("failed", plain(`The agentls server did not start: ${last ?? messageOf(error)}`, 400));
      void offer("error", this.reason ?? "", { "Restart Server": () => this.restart(), ...log });
    }
    return new Error(this.reason);
  }

  #exited(client: Client, how: string): void {
    if (this.#client !== client) return; // it was stopped
    this.agentls.log.error(`The server ended: ${how}.`);
    if (this.#state !== "ready") return; // its start fails
    this.#client = this.#started = this.#process = undefined;
    const log = { "Show Log": () => this.agentls.log.show(true) };
    if (!this.#restarts.allows(Date.now())) {
      this.#set("failed", `The agentls server ended too often (${how}).`);
      void offer("error", this.reason ?? "", { "Restart Server": () => this.restart(), ...log });
      return;
    }
    this.#set("restarting", `The agentls server ended (${how}).`);
    this.#start("restarting");
    void offer("warning", `The agentls server ended (${how}) and was started again. What ran has ended.`, log);
  }

  #set(state: ServerState, reason: string | undefined): void {
    this.reason = reason;
    if (state === this.#state && state !== "starting") return;
    this.#state = state;
    void vscode.commands.executeCommand("setContext", "agentls.serverState", state);
    this.#changed.fire(state);
  }
}

function openPathSetting(): Thenable<unknown> {
  return vscode.commands.executeCommand("workbench.action.openSettings", "agentls.path");
}
