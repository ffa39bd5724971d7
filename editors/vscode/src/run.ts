import { randomUUID } from "node:crypto";
import * as vscode from "vscode";
import { WorkDoneProgress } from "vscode-languageclient";
import type { Agentls } from "./agentls.js";
import type {
  AskArgument,
  Commands,
  ErrorKind,
  RunCommand,
  RunFailure,
  RunResult,
  UsePromptArgument,
} from "./protocol.js";
import { setting } from "./settings.js";
import { isCancelled, isServerGone, messageOf, plain } from "./text.js";

export interface How {
  /** The title of a notification with Cancel; false: none, the chat view shows it. */
  toast: string | false;
  signal?: vscode.CancellationToken;
  /** What the run is called where nobody wrote a prompt. */
  prompt?: string;
}

/**
 * Starts a run and waits for its end, with a cancellation token and a progress token of its own. What has a toast is
 * shown in the chat view too, but for agentls.send, whose answer streams into its buffer.
 * @returns undefined: it was cancelled. Where the command was detached, its status is `queued` or `running`.
 * @throws where it failed: a sentence for a person.
 */
export async function startRun<K extends RunCommand>(
  a: Agentls,
  command: K,
  argument: Commands[K]["argument"],
  how: How,
): Promise<RunResult | undefined> {
  if (how.toast === false) return await new Request(a, command, argument, how).send(how.signal);
  const title = plain(how.toast, 100);
  return await vscode.window.withProgress(
    { location: vscode.ProgressLocation.Notification, cancellable: true, title },
    async (progress, cancel) => {
      const either = joined(how.signal === undefined ? [cancel] : [cancel, how.signal]);
      try {
        return await new Request(a, command, argument, how).send(either.token, (message) => {
          progress.report({ message: plain(message, 200) });
        });
      } finally {
        either.dispose();
      }
    },
  );
}

/** One workspace/executeCommand that starts a run. */
class Request<K extends RunCommand> {
  readonly #workDoneToken = randomUUID();
  readonly #argument: Commands[K]["argument"];
  /** Known beforehand, but of agentls.send. */
  readonly #runId: string | undefined;

  constructor(
    readonly a: Agentls,
    readonly command: K,
    argument: Commands[K]["argument"],
    readonly how: How,
  ) {
    if (
      command === "agentls.ask" ||
      (command === "agentls.mcp.usePrompt" && (argument as UsePromptArgument).run === true)
    ) {
      this.#runId = (argument as AskArgument | UsePromptArgument).runId ?? randomUUID();
      this.#argument = { ...argument, runId: this.#runId };
    } else {
      this.#argument = argument;
    }
  }

  async send(token?: vscode.CancellationToken, report?: (message: string) => void): Promise<RunResult | undefined> {
    const client = await this.a.server.ready();
    const progress = client.onProgress(WorkDoneProgress.type, this.#workDoneToken, (value) => {
      if (value.kind !== "end" && value.message !== undefined) report?.(value.message);
    });
    this.#expect();
    try {
      const params = { command: this.command, arguments: [this.#argument], workDoneToken: this.#workDoneToken };
      const result = await this.a.server.request<RunResult>("workspace/executeCommand", params, token);
      this.a.runs.answered(result);
      return result;
    } catch (error) {
      this.#failed(error);
      return undefined;
    } finally {
      progress.dispose();
    }
  }

  #expect(): void {
    if (this.#runId === undefined) return;
    const { session, mode, prompt = this.how.prompt } = this.#argument as AskArgument;
    this.a.runs.expect({
      id: this.#runId,
      ...(session === undefined ? {} : { session }),
      ...(mode === undefined ? {} : { mode }),
      ...(prompt === undefined ? {} : { prompt }),
    });
    if (this.how.toast !== false && setting("panel.reveal") === "run") {
      void this.a.panel.show({ runId: this.#runId, ...(session === undefined ? {} : { session }) });
    }
  }

  #failed(error: unknown): void {
    const runId = this.#runId ?? failureOf(error)?.runId;
    const cancelled = isCancelled(error);
    if (runId !== undefined && cancelled) this.a.runs.ended(runId, "cancelled");
    if (cancelled) return;
    if (isServerGone(error)) throw error; // Runs.lost says how it ended
    const { kind = "internal", retryable = false } = failureOf(error) ?? {};
    if (runId !== undefined) this.a.runs.ended(runId, "failed", { message: messageOf(error), kind, retryable });
    throw error;
  }
}

/** What a run's error says besides its message. */
function failureOf(error: unknown): RunFailure | undefined {
  const data = (error as { data?: unknown } | null)?.data;
  return typeof data === "object" && data !== null && "runId" in data ? (data as RunFailure) : undefined;
}

/** Whether setting up a model may help. */
export function isSetupFailure(error: unknown): boolean {
  const kind: ErrorKind | undefined = failureOf(error)?.kind;
  return kind === "auth" || kind === "config";
}

/** Is cancelled when one of the tokens is. */
function joined(tokens: readonly vscode.CancellationToken[]): vscode.CancellationTokenSource {
  const source = new vscode.CancellationTokenSource();
  for (const token of tokens) {
    if (token.isCancellationRequested) source.cancel();
    token.onCancellationRequested(() => source.cancel());
  }
  return source;
}
