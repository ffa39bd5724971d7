import * as vscode from "vscode";
import type { Agentls } from "../agentls.js";
import type { ServerInfo } from "../protocol.js";
import { isCancelled, messageOf } from "../text.js";

/** The MCP servers as they are now. Nothing polls: the server tells of changes. */
export class Servers implements vscode.Disposable {
  /** The embedded one first; empty until the server is there. */
  list: readonly ServerInfo[] = [];
  readonly #changed = new vscode.EventEmitter<void>();
  readonly onDidChange = this.#changed.event;
  #fetching: Promise<void> | undefined;
  #again = false;

  constructor(readonly agentls: Agentls) {
    agentls.own(agentls.server.onNotification("agentls/didChangeServers", () => this.refresh()));
    agentls.own(
      agentls.server.onDidChange((state) => {
        if (state === "ready") this.refresh();
        else if (this.list.length > 0) this.#take([]);
      }),
    );
  }

  named(name: string): ServerInfo | undefined {
    return this.list.find((info) => info.name === name);
  }

  /** The server that a prompt mentions by a name. */
  mentioned(mention: string): ServerInfo | undefined {
    return this.list.find((info) => info.mention === mention);
  }

  /** Asks anew, soon; one request at a time. */
  refresh(): void {
    if (this.#fetching !== undefined) {
      this.#again = true;
      return;
    }
    this.#fetching = this.#fetch().finally(() => {
      this.#fetching = undefined;
      if (!this.#again) return;
      this.#again = false;
      this.refresh();
    });
  }

  /** The list of this moment. */
  async now(): Promise<readonly ServerInfo[]> {
    const list = await this.agentls.server.command("agentls.mcp.servers", {});
    this.#take(list);
    return list;
  }

  dispose(): void {
    this.#changed.dispose();
  }

  async #fetch(): Promise<void> {
    try {
      await this.now();
    } catch (error) {
      if (!isCancelled(error)) this.agentls.log.warn(`MCP servers: ${messageOf(error)}`); // its state tells of its end
    }
  }

  #take(list: readonly ServerInfo[]): void {
    this.list = list;
    this.#changed.fire();
  }
}
