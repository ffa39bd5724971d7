import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { createInterface } from "node:readline";
import * as vscode from "vscode";
import {
  BaseLanguageClient,
  CloseAction,
  ErrorAction,
  RevealOutputChannelOn,
  type ClientCapabilities,
  type FeatureState,
  type InitializeParams,
  type LanguageClientOptions,
  type MessageTransports,
  type StaticFeature,
} from "vscode-languageclient";
import { StreamMessageReader, StreamMessageWriter } from "vscode-languageserver-protocol/node";
import { suggestOn } from "./completion.js";
import { executeCommand } from "./execute.js";
import type { Agentls } from "./agentls.js";
import { explicitSettings } from "./settings.js";

/** What the extension brings a user interface for (CONTRACT §3). */
const features = {
  approvals: true,
  diagnostics: true,
  model: true,
  plans: true,
  runEvents: true,
  save: true,
  servers: true,
};

export interface ClientEvents {
  spawn(): Promise<ChildProcessWithoutNullStreams>;
  stderr(line: string): void;
  /** Nothing comes from the server any more, unasked. */
  closed(): void;
}

/** One connection to one process. A start anew makes another. */
export class Client extends BaseLanguageClient {
  readonly #events: ClientEvents;

  constructor(a: Agentls, events: ClientEvents) {
    super("agentls", "agentls", options(a, events));
    this.#events = events;
    this.registerFeature(announcement);
  }

  protected override async createMessageTransports(): Promise<MessageTransports> {
    const { stderr, stdin, stdout } = await this.#events.spawn();
    createInterface({ input: stderr, crlfDelay: Infinity }).on("line", (line) => this.#events.stderr(line));
    return { reader: new StreamMessageReader(stdout), writer: new StreamMessageWriter(stdin) };
  }

  /** The server ends with the extension host, whatever becomes of the pipe. */
  protected override fillInitializeParams(params: InitializeParams): void {
    super.fillInitializeParams(params);
    params.processId = process.pid;
  }

  /** Server tells of failures itself, with a button that helps: here they are only logged. */
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }
}

const announcement: StaticFeature = {
  fillClientCapabilities(capabilities: ClientCapabilities) {
    capabilities.experimental = { ...(capabilities.experimental as object | undefined), agentls: features };
  },
  initialize() {
    // nothing to do
  },
  getState: (): FeatureState => ({ kind: "static" }),
  clear() {
    // nothing to do
  },
};

function options(a: Agentls, events: ClientEvents): LanguageClientOptions {
  return {
    diagnosticCollectionName: "agentls",
    // In a remote window the extension runs there: its documents are files too.
    documentSelector: [{ scheme: "file" }, { scheme: "untitled" }],
    errorHandler: {
      closed: () => {
        events.closed(); // Server starts it anew
        return { action: CloseAction.DoNotRestart, handled: true };
      },
      error: () => ({ action: ErrorAction.Continue, handled: true }),
    },
    initializationFailedHandler: () => false,
    initializationOptions: () => ({ workspaceTrusted: vscode.workspace.isTrusted }),
    markdown: { isTrusted: false, supportHtml: false },
    middleware: {
      provideCompletionItem: async (document, position, context, token, next) =>
        suggestOn(await next(document, position, context, token)),
      executeCommand: (command, args) => executeCommand(a, command, args),
      handleDiagnostics: (uri, diagnostics, next) => {
        if (!a.panel.diagnose(uri, diagnostics)) next(uri, diagnostics);
      },
      workspace: {
        configuration: (params) =>
          params.items.map((item) =>
            item.section === "agentls"
              ? explicitSettings(item.scopeUri === undefined ? undefined : vscode.Uri.parse(item.scopeUri))
              : null,
          ),
      },
    },
    outputChannel: a.log,
    revealOutputChannelOn: RevealOutputChannelOn.Never,
    traceOutputChannel: a.log,
  };
}
