import * as vscode from "vscode";
import type { Agentls } from "../agentls.js";
import { offer } from "../commands.js";
import type { LoginResult, ServerInfo } from "../protocol.js";
import { isCancelled, plain } from "../text.js";

/** Logins into remote servers. The server opens the page in the browser and waits for what it ends on. */
export class Logins {
  readonly #running = new Set<string>();

  constructor(readonly agentls: Agentls) {}

  async login({ name }: ServerInfo): Promise<void> {
    if (this.#running.has(name)) {
      await this.#paste(name);
      return;
    }
    this.#running.add(name);
    try {
      const title = `Logging in to ${plain(name, 80)}`;
      const result = await vscode.window.withProgress(
        { location: vscode.ProgressLocation.Notification, cancellable: true, title },
        (progress, token) => {
          progress.report({ message: "Go on in your browser." });
          if (isBrowserElsewhere()) void this.#offerPaste(name, token);
          return this.agentls.server.command("agentls.mcp.login", { server: name, detached: false }, token);
        },
      );
      tell(result);
    } catch (error) {
      if (!isCancelled(error)) throw error;
    } finally {
      this.#running.delete(name);
    }
  }

  async logout({ name }: ServerInfo): Promise<void> {
    tell(await this.agentls.server.command("agentls.mcp.logout", { server: name, detached: false }));
  }

  /**
   * VS Code forwards the port on which the server waits for the browser, where it can. Where it cannot, the browser
   * ends on a page that it does not reach: its address has all that is needed.
   */
  async #offerPaste(name: string, token: vscode.CancellationToken): Promise<void> {
    const text =
      `${plain(name, 80)}: should the browser end on a page that it cannot reach, copy the address of that page ` +
      "and paste it here.";
    const paste = async () => {
      if (!token.isCancellationRequested && this.#running.has(name)) await this.#paste(name);
    };
    await offer("information", text, { "Paste Address…": paste });
  }

  async #paste(name: string): Promise<void> {
    const redirectUrl = await vscode.window.showInputBox({
      ignoreFocusOut: true,
      placeHolder: "http://127.0.0.1:…/callback?code=…",
      prompt: "The address of the page that the browser ended on",
      title: `Log In to ${plain(name, 80)}`,
      validateInput: (text) =>
        text.trim() === "" || URL.canParse(text.trim()) ? undefined : "This is no address. Copy all of it.",
    });
    if (redirectUrl === undefined || redirectUrl.trim() === "") return;
    // The login that waits tells how it ended.
    await this.agentls.server.command("agentls.mcp.login", { server: name, redirectUrl: redirectUrl.trim() });
  }
}

function tell({ note, status }: LoginResult): void {
  void offer(status === "ready" ? "information" : "warning", plain(note), {});
}

/** Whether the browser may be on another machine than the server. */
function isBrowserElsewhere(): boolean {
  return vscode.env.remoteName !== undefined || vscode.env.uiKind === vscode.UIKind.Web;
}
