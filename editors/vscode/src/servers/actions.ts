import * as vscode from "vscode";
import type { Agentls } from "../agentls.js";
import { offer } from "../commands.js";
import type { ServerInfo } from "../protocol.js";
import { label, oneLine, plain, visibleJSON } from "../text.js";
import type { Documents } from "./documents.js";
import { logText } from "./logtext.js";
import type { Logins } from "./login.js";
import { type ServerAction, sourceOf } from "./standing.js";

/** Does what a person can do about an MCP server. */
export class Actions {
  constructor(
    readonly agentls: Agentls,
    readonly documents: Documents,
    readonly logins: Logins,
  ) {}

  async run(action: ServerAction, info: ServerInfo): Promise<void> {
    switch (action) {
      case "start":
        await this.#start(info);
        return;
      case "stop":
        await this.#stop(info);
        return;
      case "restart":
        await this.#changing(info, "agentls.mcp.restart");
        return;
      case "logs":
        await this.#logs(info);
        return;
      case "trust":
        await this.#trust(info);
        return;
      case "distrust":
        await this.#distrust(info);
        return;
      case "login":
        await this.logins.login(info);
        return;
      case "logout":
        await this.logins.logout(info);
        return;
    }
  }

  async #start(info: ServerInfo): Promise<void> {
    await this.#changing(info, info.status === "disabled" ? "agentls.mcp.enable" : "agentls.mcp.restart");
  }

  async #stop(info: ServerInfo): Promise<void> {
    await this.agentls.server.command("agentls.mcp.disable", { server: info.name });
  }

  /** Does what starts a server, and says so where it is not to be seen. */
  async #changing(info: ServerInfo, command: "agentls.mcp.enable" | "agentls.mcp.restart"): Promise<void> {
    const now = await this.agentls.server.command(command, { server: info.name });
    if (now.status === "untrusted" && !vscode.workspace.isTrusted) sayUntrusted();
  }

  async #logs({ name }: ServerInfo): Promise<void> {
    const renew = async () => logText(await this.agentls.server.command("agentls.mcp.logs", { server: name }));
    const editor = await this.documents.show(`${name}.log`, { text: await renew(), renew });
    const end = editor.document.lineAt(editor.document.lineCount - 1).range;
    editor.revealRange(end);
  }

  /** Shows all that would run, and asks. What is answered counts for what was shown alone. */
  async #trust(info: ServerInfo): Promise<void> {
    if (!vscode.workspace.isTrusted) {
      sayUntrusted();
      return;
    }
    await this.documents.show(`${info.name}.json`, { text: definitionText(info) }, { preserveFocus: true });
    const no = { label: "$(circle-slash) Not now", description: "it does not start" };
    const yes = { label: "$(shield) Trust and start", description: "until its definition changes" };
    const taken = await vscode.window.showQuickPick([no, yes], {
      ignoreFocusOut: true,
      placeHolder: "Its whole definition is open in the editor. It runs with your rights.",
      title: `Trust the MCP server ${label(info.name, 80)} of ${oneLine(sourceOf(info), 120)}?`,
    });
    if (taken !== yes) return;
    const { name, fingerprint } = info;
    await this.agentls.server.command("agentls.mcp.trust", { server: name, trust: true, fingerprint });
  }

  async #distrust({ name }: ServerInfo): Promise<void> {
    await this.agentls.server.command("agentls.mcp.trust", { server: name, trust: false });
    void offer("information", `${plain(name, 100)} was stopped, and does not start before you trust it again.`, {});
  }
}

function sayUntrusted(): void {
  void offer("information", "This folder is not trusted. Its MCP servers can be trusted once the folder is.", {
    "Manage Workspace Trust": () => vscode.commands.executeCommand("workbench.trust.manage"),
  });
}

/** All that would run, and what it would read, so that nothing in it stays unseen. */
function definitionText({ name, source, definition, reads, fingerprint }: ServerInfo): string {
  return visibleJSON({ server: name, file: source, ...definition, reads, fingerprint }) + "\n";
}
