import * as vscode from "vscode";
import type { Agentls } from "../agentls.js";
import { registerCommands, showFailure } from "../commands.js";
import { isLive, type Run } from "../runs.js";
import { approveResult, planResult } from "./answer.js";
import { Book, type Outcome } from "./book.js";
import { Notice } from "./notice.js";
import { pickQuestion } from "./pick.js";
import { Previews } from "./preview.js";
import { ofApproval, ofApprove, ofElicit, ofPlan, type Answer, type Question } from "./question.js";

/** The questions that wait for a person. */
export class Questions implements vscode.Disposable {
  readonly #book = new Book();
  readonly #changed = new vscode.EventEmitter<void>();
  /** After each change of {@link open}. */
  readonly onDidChange = this.#changed.event;
  /** The one to turn to, for a panel that is only now opened. */
  reviewing: string | undefined;
  readonly #previews: Previews;
  /** Ids of questions that events told of, and that the server was asked about. */
  readonly #looked = new Set<string>();

  constructor(readonly agentls: Agentls) {
    this.#previews = new Previews(this);
    this.#book.onDidChange(() => this.#changed.fire());
  }

  /** In the order they came. */
  get open(): readonly Question[] {
    return this.#book.open;
  }

  find(id: string): Question | undefined {
    return this.#book.find(id);
  }

  /** Answers one. Somebody may have been faster: then it is said that nothing was done. */
  answer(id: string, answer: Answer): Outcome {
    const outcome = this.#book.answer(id, answer);
    if (outcome === "closed" && answer.decision !== "deny" && answer.decision !== "cancel") sayClosed();
    if (outcome !== "answered") this.#changed.fire(); // who showed it shows what is there
    return outcome;
  }

  /** Shows the panel at a question; without an id at the first. */
  async review(id?: string): Promise<void> {
    const question = id === undefined ? this.open[0] : this.find(id);
    if (question === undefined) {
      sayClosed();
      return;
    }
    this.reviewing = question.id;
    await this.agentls.panel.show({ focus: true, question: question.id });
  }

  /** Opens what an edit would change in the diff editor; it is closed with the question. */
  async showDiff(id: string): Promise<void> {
    const question = this.find(id);
    if (question?.preview === undefined) sayClosed();
    else await this.#previews.show(question, question.preview);
  }

  /** Listens to the server. */
  register(): void {
    const a = this.agentls;
    const { server } = a;
    const ask = this.#ask.bind(this);
    a.own(this.#previews);
    a.own(
      server.onRequest("agentls/approve", async (p, token) => {
        const asked = ofApprove(p);
        const answer = await ask(asked, token);
        return answer ? approveResult({ ...asked, seq: 0 }, answer) : null;
      }),
    );
    a.own(
      server.onRequest("agentls/elicit", async (p, token) => {
        const asked = ofElicit(p);
        const answer = await ask(asked, token);
        return answer ? approveResult({ ...asked, seq: 0 }, answer) : null;
      }),
    );
    a.own(
      server.onRequest("agentls/plan", async (p, token) => {
        const answer = await ask(ofPlan(p), token);
        return answer ? planResult(answer) : null;
      }),
    );
    a.own(a.runs.onDidChange((run) => this.#follow(run)));
    a.own(
      server.onDidChange((state) => {
        if (state === "ready") void this.sync();
        else this.#book.closeAll();
      }),
    );
    a.own(this.onDidChange(() => this.#forget()));
  }

  /** Takes up what the server holds and was not asked here: an answer goes by agentls.approve. */
  async sync(): Promise<void> {
    try {
      const held = await this.agentls.server.command("agentls.approvals", {});
      this.#book.restore(held.map(ofApproval), (q, a) => void this.#approve(q, a));
    } catch (error) {
      this.agentls.log.warn(`The open questions cannot be listed: ${String(error)}`);
    }
  }

  dispose(): void {
    this.#book.closeAll();
    this.#changed.dispose();
  }

  async #ask(asked: Omit<Question, "seq">, token: vscode.CancellationToken): Promise<Answer | undefined> {
    if (token.isCancellationRequested) return undefined;
    const put = this.#book.ask(asked);
    const cancelled = token.onCancellationRequested(() => put.withdraw());
    try {
      return await put.answer;
    } finally {
      cancelled.dispose();
    }
  }

  async #approve(q: Question, a: Answer): Promise<void> {
    try {
      const { resolved } = await this.agentls.server.command("agentls.approve", { id: q.id, ...approveResult(q, a) });
      if (!resolved && a.decision !== "deny" && a.decision !== "cancel") sayClosed();
    } catch (error) {
      this.#book.untold(q.id);
      showFailure(this.agentls, error);
      await this.sync();
    }
  }

  #follow(run: Run): void {
    if (!isLive(run)) {
      this.#book.closeRun(run.id);
      return;
    }
    if (run.status !== "waiting") return;
    const unknown = run.items.flatMap((item) =>
      item.kind === "approval" && item.approval.state === "open" && !this.#looked.has(item.approval.id)
        ? [item.approval.id]
        : [],
    );
    for (const id of unknown) this.#looked.add(id);
    if (unknown.some((id) => this.find(id) === undefined)) void this.sync();
  }

  #forget(): void {
    void vscode.commands.executeCommand("setContext", "agentls.questions", this.open.length);
    if (this.reviewing !== undefined && this.find(this.reviewing) === undefined) this.reviewing = undefined;
    if (this.open.length === 0 && this.agentls.runs.active().length === 0) this.#looked.clear();
  }
}

function sayClosed(): void {
  void vscode.window.showInformationMessage(
    "agentls no longer asks that: its run has ended, or it was answered elsewhere. Nothing was done by this answer.",
  );
}

export function register(a: Agentls): void {
  a.questions.register();
  a.own(new Notice(a));
  registerCommands(a, [
    {
      id: "agentls.ui.questions",
      run: async () => {
        if (a.server.state === "ready") await a.questions.sync();
        await pickQuestion(a);
      },
    },
    // Of the notification's links. Neither says yes.
    { id: "agentls.ui.questions.review", run: (_a, id) => a.questions.review(typeof id === "string" ? id : undefined) },
    {
      id: "agentls.ui.questions.deny",
      run: (_a, id) => {
        if (typeof id === "string") a.questions.answer(id, { decision: "deny" });
      },
    },
  ]);
}
