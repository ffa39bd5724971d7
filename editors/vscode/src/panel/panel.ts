import * as vscode from "vscode";
import type { Agentls } from "../agentls.js";

export interface ShowOptions {
  session?: string;
  runId?: string;
  /** Put into the input, not sent. */
  prompt?: string;
  focus?: boolean;
}

/** The chat view. */
export class Panel implements vscode.Disposable {
  readonly #visibility = new vscode.EventEmitter<boolean>();
  readonly onDidChangeVisibility = this.#visibility.event;
  readonly visible: boolean = false;

  constructor(readonly agentls: Agentls) {}

  async show(options: ShowOptions): Promise<void> {
    await vscode.commands.executeCommand("agentls.chat.focus", { preserveFocus: options.focus !== true });
  }

  /** Puts a text into the input, at its cursor. */
  async insert(text: string): Promise<void> {
    await this.show({ prompt: text, focus: true });
  }

  dispose(): void {
    this.#visibility.dispose();
  }
}

export function register(_a: Agentls): void {
  // nothing yet
}
