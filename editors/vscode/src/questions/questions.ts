import * as vscode from "vscode";
import type { Agentls } from "../agentls.js";

/** The questions that wait for a person. */
export class Questions implements vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<void>();
  readonly onDidChange = this.#changed.event;

  constructor(readonly agentls: Agentls) {}

  dispose(): void {
    this.#changed.dispose();
  }
}

export function register(_a: Agentls): void {
  // nothing yet
}
