import { randomUUID } from "node:crypto";
import * as vscode from "vscode";
import { WorkDoneProgress } from "vscode-languageclient/node";
import type { Agentls } from "./agentls.js";
import type { Commands, RunCommand, RunResult } from "./protocol.js";
import { isCancelled, plain } from "./text.js";

export interface How {
  /** The title of a notification with Cancel; false: none, the chat view shows it. */
  toast: string | false;
  signal?: vscode.CancellationToken;
}

/** Starts a run and waits for its end. undefined: it was cancelled. Failed: thrown, a sentence. */
export async function startRun<K extends RunCommand>(
  a: Agentls,
  command: K,
  argument: Commands[K]["argument"],
  how: How,
): Promise<RunResult | undefined> {
  if (how.toast === false) return await send(a, command, argument, how.signal, () => undefined);
  return await vscode.window.withProgress(
    { location: vscode.ProgressLocation.Notification, cancellable: true, title: how.toast },
    async (progress, cancel) => {
      const both = how.signal === undefined ? undefined : either(cancel, how.signal);
      try {
        return await send(a, command, argument, both?.token ?? cancel, (message) => progress.report({ message }));
      } finally {
        both?.dispose();
      }
    },
  );
}

async function send<K extends RunCommand>(
  a: Agentls,
  command: K,
  argument: Commands[K]["argument"],
  token: vscode.CancellationToken | undefined,
  report: (message: string) => void,
): Promise<RunResult | undefined> {
  const client = await a.server.ready();
  const workDoneToken = randomUUID();
  const listener = client.onProgress(WorkDoneProgress.type, workDoneToken, (value) => {
    if (value.kind !== "end" && value.message !== undefined) report(plain(value.message, 200));
  });
  try {
    const params = { command, arguments: [argument], workDoneToken };
    return await a.server.request<RunResult>("workspace/executeCommand", params, token);
  } catch (error) {
    if (isCancelled(error)) return undefined;
    throw error;
  } finally {
    listener.dispose();
  }
}

function either(a: vscode.CancellationToken, b: vscode.CancellationToken): vscode.CancellationTokenSource {
  const source = new vscode.CancellationTokenSource();
  for (const token of [a, b]) {
    if (token.isCancellationRequested) source.cancel();
    token.onCancellationRequested(() => source.cancel());
  }
  return source;
}
