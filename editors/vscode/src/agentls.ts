import * as vscode from "vscode";
import { Answering } from "./answering.js";
import { Panel } from "./panel/panel.js";
import { Questions } from "./questions/questions.js";
import { Runs } from "./runs.js";
import { Server } from "./server.js";
import { Servers } from "./servers/servers.js";
import { messageOf } from "./text.js";

/** Owns everything that lives as long as the extension; handed to every feature. */
export class Agentls implements vscode.Disposable {
  /** The one of this extension host, for {@link deactivate}. */
  static current: Agentls | undefined;

  /** The server's own log goes here too; secrets stay out. */
  readonly log: vscode.LogOutputChannel;
  readonly server: Server;
  readonly answering = new Answering();
  readonly runs = new Runs();
  readonly questions: Questions;
  readonly panel: Panel;
  readonly servers: Servers;

  constructor(readonly context: vscode.ExtensionContext) {
    Agentls.current = this;
    context.subscriptions.push(this);
    this.log = this.own(vscode.window.createOutputChannel("agentls", { log: true }));
    this.server = this.own(new Server(this));
    this.questions = this.own(new Questions(this));
    this.panel = this.own(new Panel(this));
    this.servers = this.own(new Servers(this));
    this.own(
      this.server.onNotification("agentls/runEvent", (event) => {
        this.runs.apply(event);
      }),
    );
    this.own(
      this.server.onDidChange((state) => {
        if (state !== "ready") this.runs.lost(this.server.reason ?? "The server ended.");
      }),
    );
    this.own(
      this.runs.onDidChange((run, status) => {
        if (!status) return;
        this.#showRunning();
        if (run.seq === 1 && run.prompt === undefined) void this.#describe();
      }),
    );
  }

  /** The extension's. */
  get version(): string {
    return (this.context.extension.packageJSON as { version: string }).version;
  }

  own<T extends vscode.Disposable>(disposable: T): T {
    this.context.subscriptions.push(disposable);
    return disposable;
  }

  dispose(): void {
    if (Agentls.current === this) Agentls.current = undefined;
  }

  #running = 0;

  /** The context key `agentls.running` is the number of live runs. */
  #showRunning(): void {
    const running = this.runs.active().length;
    if (running === this.#running) return;
    this.#running = running;
    void vscode.commands.executeCommand("setContext", "agentls.running", running);
  }

  /** Asks what was asked in a run that the server began by itself: of a buffer, a lens, an MCP prompt. */
  async #describe(): Promise<void> {
    try {
      this.runs.describe(await this.server.command("agentls.runs", {}));
    } catch (error) {
      this.log.debug(`agentls.runs: ${messageOf(error)}`); // it ended meanwhile
    }
  }
}
