/** What is known of runs: a model that run events feed. Without vscode. */
import type {
  ApprovalEvent,
  Failure,
  MentionResult,
  Mode,
  PlanState,
  RunEvent,
  RunStatus,
  ToolCallEvent,
  Usage,
} from "./protocol.js";

export type Item =
  | { kind: "text" | "reasoning"; text: string; part?: string }
  | { kind: "tool"; call: ToolCallEvent; startedAt: number; endedAt?: number }
  | { kind: "plan"; plan: PlanState }
  | { kind: "approval"; approval: ApprovalEvent }
  | { kind: "mention"; mention: MentionResult };

export interface Run {
  readonly id: string;
  readonly session: string;
  mode?: Mode;
  status: RunStatus;
  /** What was asked, where it is known. */
  prompt?: string;
  items: Item[];
  plan?: PlanState;
  usage?: Usage;
  error?: Failure;
  stopReason?: string;
  /** Files that it changed, also where it did not complete. */
  changed?: { uri: string; saved: boolean }[];
  /** Milliseconds since 1970. */
  startedAt: number;
  endedAt?: number;
  /** The last event's number. */
  seq: number;
}

const live: readonly RunStatus[] = ["queued", "running", "waiting"];

export function isLive(run: Run): boolean {
  return live.includes(run.status);
}

/** What is kept of runs that ended. */
const maxFinished = 200;

export class Runs {
  readonly #runs = new Map<string, Run>();
  readonly #listeners = new Set<(run: Run) => void>();

  constructor(readonly now: () => number = Date.now) {}

  /** Told after each change, of the run that changed. */
  onDidChange(listener: (run: Run) => void): { dispose(): void } {
    this.#listeners.add(listener);
    return { dispose: () => this.#listeners.delete(listener) };
  }

  get(runId: string): Run | undefined {
    return this.#runs.get(runId);
  }

  /** Those that live, the oldest first. */
  active(): Run[] {
    return [...this.#runs.values()].filter(isLive);
  }

  /** Those of a session, the oldest first. */
  of(session: string): Run[] {
    return [...this.#runs.values()].filter((run) => run.session === session);
  }

  /** What is known of a run before its first event: what was asked. */
  expect(known: { id: string; session: string; mode?: Mode; prompt?: string }): void {
    const run = this.#make(known.id, known.session);
    if (known.mode !== undefined) run.mode = known.mode;
    if (known.prompt !== undefined) run.prompt = known.prompt;
  }

  apply(event: RunEvent): void {
    const run = this.#make(event.runId, event.session);
    if (!isLive(run) || event.seq <= run.seq) return; // nothing of a run comes after its end
    run.seq = event.seq;
    this.#take(run, event);
    this.#bound();
    this.#tell(run);
  }

  /** One that was expected never began: its command was refused, or (undefined) cancelled. */
  unbegun(id: string, reason: string | undefined): void {
    const run = this.#runs.get(id);
    if (run === undefined || run.seq > 0 || !isLive(run)) return;
    run.status = reason === undefined ? "cancelled" : "failed";
    run.endedAt = this.now();
    if (reason !== undefined) run.error = { message: reason, kind: "config", retryable: false };
    this.#bound();
    this.#tell(run);
  }

  /** The server is gone: what lived has failed. */
  lost(reason: string): void {
    for (const run of this.active()) {
      run.status = "failed";
      run.endedAt = this.now();
      run.error = { message: reason, kind: "internal", retryable: true };
      this.#tell(run);
    }
  }

  #make(id: string, session: string): Run {
    let run = this.#runs.get(id);
    if (run === undefined) {
      run = { id, session, status: "queued", items: [], startedAt: this.now(), seq: 0 };
      this.#runs.set(id, run);
    }
    return run;
  }

  #take(run: Run, event: RunEvent): void {
    switch (event.kind) {
      case "queued":
        return;
      case "started":
        run.status = "running";
        run.startedAt = this.now();
        return;
      case "text":
      case "reasoning":
        append(run, event.kind, event.delta);
        return;
      case "toolCall":
        this.#call(run, event.toolCall);
        return;
      case "plan":
        run.plan = event.plan;
        put(run, { kind: "plan", plan: event.plan }, (i) => i.kind === "plan" && i.plan.plan === event.plan.plan);
        return;
      case "mention":
        run.items.push({ kind: "mention", mention: event.mention });
        return;
      case "approval":
        put(
          run,
          { kind: "approval", approval: event.approval },
          (i) => i.kind === "approval" && i.approval.id === event.approval.id,
        );
        run.status = run.items.some((i) => i.kind === "approval" && i.approval.state === "open")
          ? "waiting"
          : "running";
        return;
      case "usage":
        run.usage = event.usage;
        return;
      case "finished":
        run.status = event.status;
        run.endedAt = this.now();
        if (event.stopReason !== undefined) run.stopReason = event.stopReason;
        if (event.error !== undefined) run.error = event.error;
        if (event.changed !== undefined) run.changed = event.changed;
    }
  }

  #call(run: Run, call: ToolCallEvent): void {
    const same = (i: Item) => i.kind === "tool" && i.call.id === call.id && i.call.part === call.part;
    const old = run.items.find(same);
    const ended = call.state !== "pending" && call.state !== "running";
    put(
      run,
      {
        kind: "tool",
        call: old?.kind === "tool" ? { ...old.call, ...call } : call,
        startedAt: old?.kind === "tool" ? old.startedAt : this.now(),
        ...(ended ? { endedAt: this.now() } : {}),
      },
      same,
    );
  }

  #bound(): void {
    const finished = [...this.#runs.values()].filter((run) => !isLive(run));
    for (const run of finished.slice(0, Math.max(0, finished.length - maxFinished))) this.#runs.delete(run.id);
  }

  #tell(run: Run): void {
    for (const listener of this.#listeners) listener(run);
  }
}

function append(run: Run, kind: "text" | "reasoning", delta: string): void {
  const last = run.items.at(-1);
  if (last?.kind === kind) last.text += delta;
  else run.items.push({ kind, text: delta });
}

/** Replaces the item that is the same one, or adds it. */
function put(run: Run, item: Item, same: (item: Item) => boolean): void {
  const index = run.items.findIndex(same);
  if (index < 0) run.items.push(item);
  else run.items[index] = item;
}
