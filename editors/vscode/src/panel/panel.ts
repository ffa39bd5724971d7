import { randomUUID } from "node:crypto";
import * as vscode from "vscode";
import type { Agentls } from "../agentls.js";
import { registerCommands } from "../commands.js";
import type { Mode, ServerNotifications } from "../protocol.js";
import { isLive } from "../runs.js";
import { count, messageOf } from "../text.js";
import { Throttle } from "../throttle.js";
import { Conversation } from "./conversation.js";
import { page } from "./html.js";
import { InputDocument, inputScheme } from "./inputdocument.js";
import { Kept } from "./kept.js";
import type { Attachment, Chip, FromPanel, ToPanel } from "./messages.js";
import { obey } from "./obey.js";
import { fromPanel } from "./validate.js";

export interface ShowOptions {
  session?: string;
  runId?: string;
  /** Put into the input, not sent. */
  prompt?: string;
  /** What goes with the next prompt, and how it is worked on; without them that stays. */
  attachment?: Attachment;
  mode?: Mode;
  focus?: boolean;
  /** The id of a question to turn to, rather than to the input. */
  question?: string;
}

const viewId = "agentls.chat";

/** At most 60 a second. */
const frame = 17;

/** The chat view: what of a conversation it shows, and what it was told of that. */
export class Panel implements vscode.Disposable, vscode.WebviewViewProvider {
  readonly #visibility = new vscode.EventEmitter<boolean>();
  readonly onDidChangeVisibility = this.#visibility.event;
  readonly #news: Throttle<string>;
  readonly kept: Kept;
  /** A page has been there since the window was opened. */
  #begun = false;
  #input: InputDocument | undefined;
  #view: vscode.WebviewView | undefined;
  /** The page has said that it is there. */
  #ready = false;
  /** For a page that is not there yet. */
  #waiting: ToPanel[] = [];
  #conversation: Conversation;
  #model: ServerNotifications["agentls/didChangeModel"] | undefined;
  mode: Mode = "react";
  attachment: Attachment | undefined;

  constructor(readonly agentls: Agentls) {
    this.kept = new Kept(agentls.context.workspaceState);
    this.#conversation = this.#blank();
    this.#news = new Throttle(frame, (ids) => this.#tell(ids));
  }

  get visible(): boolean {
    return this.#view?.visible === true;
  }

  get conversation(): Conversation {
    return this.#conversation;
  }

  get input(): InputDocument {
    return (this.#input ??= new InputDocument(this.agentls, (m) => this.post(m)));
  }

  /** Brings the view up, without the focus unless it is wanted. */
  async show({ session, runId, prompt, attachment, mode, focus = false, question }: ShowOptions): Promise<void> {
    const of = session ?? (runId === undefined ? undefined : this.agentls.runs.get(runId)?.session);
    if (of !== undefined && of !== "" && of !== this.#conversation.session) this.open(of);
    if (attachment !== undefined) this.attach(attachment);
    if (mode !== undefined) this.turnTo(mode);
    if (prompt !== undefined) this.post({ type: "prompt", text: prompt });
    if (runId !== undefined) this.post({ type: "reveal", turn: runId });
    if (focus && question === undefined) this.post({ type: "focus" });
    if (this.#view === undefined || focus || !this.#view.visible) {
      await vscode.commands.executeCommand(`${viewId}.focus`, { preserveFocus: !focus });
    }
    if (question !== undefined) this.#tellQuestions(question);
  }

  /** What goes with the next prompt; undefined: nothing. */
  attach(attachment: Attachment | undefined): void {
    this.attachment = attachment;
    this.post({ type: "attached", attachment: attachment ?? null });
  }

  /** How prompts are worked on from now on. */
  turnTo(mode: Mode): void {
    this.mode = mode;
    this.post({ type: "mode", mode });
  }

  /** Puts a text into the input, at its cursor. */
  async insert(text: string): Promise<void> {
    this.post({ type: "insert", text });
    await this.show({ focus: true });
  }

  /** Takes the server's diagnostics of the input; false: they are of something else. */
  diagnose(uri: vscode.Uri, diagnostics: readonly vscode.Diagnostic[]): boolean {
    if (uri.scheme !== inputScheme) return false;
    this.input.diagnose(diagnostics);
    return true;
  }

  /** Tells the page; one that is not there yet is told once it is. */
  post(message: ToPanel): void {
    if (this.#ready) void this.#view?.webview.postMessage(message);
    else if (!["conversation", "patch", "chrome", "questions"].includes(message.type)) this.#waiting.push(message);
  }

  /** Turns to a session. */
  open(session: string): void {
    this.#conversation = new Conversation(session, this.agentls.runs, nameOf);
    this.kept.keep({ session });
    void this.#load(this.#conversation);
  }

  /** Turns to a conversation that has not begun. */
  openNew(): void {
    this.#conversation = this.#blank();
    this.kept.keep({ session: this.#conversation.session });
    this.post(this.#conversation.whole());
    this.#tellChrome();
  }

  /** Something of a run is to be drawn again. */
  changed(runId: string): void {
    this.#news.add([runId]);
  }

  resolveWebviewView(view: vscode.WebviewView): void {
    this.#view = view;
    this.#ready = false;
    const dist = vscode.Uri.joinPath(this.agentls.context.extensionUri, "dist");
    view.webview.options = { enableScripts: true, enableCommandUris: false, localResourceRoots: [dist] };
    const of = (name: string) => view.webview.asWebviewUri(vscode.Uri.joinPath(dist, name)).toString();
    const { cspSource } = view.webview;
    view.webview.onDidReceiveMessage((value: unknown) => void this.#hear(value));
    view.onDidChangeVisibility(() => {
      if (!view.visible) this.#ready = false; // its page is gone; the next one says that it is there
      this.#visibility.fire(view.visible);
    });
    view.onDidDispose(() => {
      if (this.#view !== view) return;
      this.#view = undefined;
      this.#ready = false;
      this.#visibility.fire(false);
    });
    view.webview.html = page({ script: of("panel.js"), style: of("panel.css"), cspSource, nonce: randomUUID() });
    this.#visibility.fire(view.visible);
  }

  register(): void {
    const a = this.agentls;
    a.own(vscode.window.registerWebviewViewProvider(viewId, this));
    a.own(
      a.runs.onDidChange((run, status) => {
        this.#news.add([run.id]);
        if (status) this.#tellChrome();
      }),
    );
    a.own(a.server.onDidChange(() => this.#tellChrome()));
    a.own(
      a.server.onNotification("agentls/didChangeModel", (model) => {
        this.#model = model;
        this.#tellChrome();
      }),
    );
    a.own(a.questions.onDidChange(() => this.#tellQuestions()));
  }

  dispose(): void {
    this.#visibility.dispose();
    this.#news.dispose();
    this.#input?.dispose();
  }

  #blank(): Conversation {
    return new Conversation(randomUUID(), this.agentls.runs, nameOf);
  }

  async #hear(value: unknown): Promise<void> {
    const message = fromPanel(value);
    if (message === undefined) {
      this.agentls.log.warn("The chat view said something that is not understood.");
      return;
    }
    if (message.type === "ready") this.#begin(message);
    else await obey(this, message);
  }

  #begin(m: Extract<FromPanel, { type: "ready" }>): void {
    this.#ready = true;
    this.mode = m.mode;
    this.attachment = m.attachment;
    const { draft = m.draft, session = m.session } = this.#begun ? {} : this.kept;
    this.#begun = true;
    this.input.begin(draft, m.version);
    if (draft !== m.draft) this.post({ type: "draft", text: draft });
    const isFresh = this.agentls.runs.of(this.#conversation.session).length === 0 && !this.#conversation.isLoaded;
    if (session !== undefined && session !== this.#conversation.session && isFresh) this.open(session);
    else this.kept.keep({ session: this.#conversation.session });
    this.post(this.#conversation.whole());
    this.#tellChrome();
    this.#tellQuestions(this.agentls.questions.reviewing);
    for (const message of this.#waiting.splice(0)) {
      if (message.type === "attached") this.attachment = message.attachment ?? undefined; // newer than what the page kept
      if (message.type === "mode") this.mode = message.mode;
      this.post(message);
    }
  }

  /** Loads what a session was before. One that nothing is kept of is a new one. */
  async #load(conversation: Conversation): Promise<void> {
    conversation.loading = true;
    this.post(conversation.whole());
    this.#tellChrome();
    try {
      const session = conversation.session;
      const known = await this.agentls.server.command("agentls.session.list", { session });
      if (known.length > 0) conversation.load(await this.agentls.server.command("agentls.session.show", { session }));
    } catch (error) {
      conversation.failed(`The conversation cannot be loaded: ${messageOf(error)}`);
    }
    conversation.loading = false;
    if (conversation === this.#conversation) this.post(conversation.whole());
  }

  #tell(ids: string[]): void {
    if (!this.#ready) return; // it gets the whole once it is there
    const patch = this.#conversation.patch(ids);
    if (patch) this.post(patch);
  }

  #tellChrome(): void {
    if (!this.#ready) return;
    const { server, runs } = this.agentls;
    const chips: Chip[] = runs.active().flatMap((run) =>
      run.session === this.#conversation.session || run.session === ""
        ? []
        : [
            {
              runId: run.id,
              session: run.session,
              title: (run.prompt ?? "Another conversation").slice(0, 80),
              status: run.status,
            },
          ],
    );
    const model = this.#model?.model ?? this.#model?.provider;
    this.post({
      type: "chrome",
      chrome: {
        server: server.state,
        ...(server.reason === undefined ? {} : { reason: server.reason }),
        ...(model === undefined ? {} : { model }),
        offline: this.#model?.provider === "offline",
        chips,
      },
    });
  }

  #tellQuestions(at?: string): void {
    const { open } = this.agentls.questions;
    const tooltip = `${count(open.length, "question waits", "questions wait")} for you`;
    if (this.#view) this.#view.badge = open.length === 0 ? undefined : { value: open.length, tooltip };
    this.post({ type: "questions", questions: open, ...(at === undefined ? {} : { at }) });
  }
}

/** A file as a person knows it. */
const nameOf = (uri: string): string => vscode.workspace.asRelativePath(vscode.Uri.parse(uri));

export function register(a: Agentls): void {
  a.panel.register();
  registerCommands(a, [
    { id: "agentls.ui.panel", run: () => a.panel.show({ focus: true }) },
    {
      id: "agentls.ui.panel.new",
      run: async () => {
        const { session } = a.panel.conversation;
        // An empty one is as good as another.
        if (a.panel.conversation.isLoaded || a.runs.of(session).some((run) => isLive(run) || run.seq > 0))
          a.panel.openNew();
        await a.panel.show({ focus: true });
      },
    },
  ]);
}
