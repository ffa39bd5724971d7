/** What is known of runs: a model that run events feed. Without vscode. */
import type {
  ApprovalEvent,
  Failure,
  MentionResult,
  Mode,
  PlanState,
  RunEvent,
  RunInfo,
  RunResult,
  RunStatus,
  ToolCallEvent,
  Usage,
} from "./protocol.js";

export type Item =
  | { kind: "text" | "reasoning"; text: string }
  | { kind: "tool"; call: ToolCallEvent; startedAt: number; endedAt?: number }
  | { kind: "plan"; plan: PlanState }
  | { kind: "approval"; approval: ApprovalEvent }
  | { kind: "mention"; mention: MentionResult };

export interface Run {
  readonly id: string;
  /** Empty until the server has named it. */
  session: string;
  mode?: Mode;
  status: RunStatus;
  /** What was asked, where it is known. */
  prompt?: string;
  /** In the order in which they began. An item that changes keeps its place. */
  items: Item[];
  plan?: PlanState;
  usage?: Usage;
  error?: Failure;
  stopReason?: string;
  /** Files that it changed, also where it did not complete. */
  changed?: { uri: string; saved: boolean }[];
  /** What its command answered, where it was ours: its note. Its text is in items. */
  result?: RunResult;
  /** Milliseconds since 1970. */
  startedAt: number;
  endedAt?: number;
  /** The number of its last event, and whether one before it is missing. */
  seq: number;
  incomplete: boolean;
  /** Characters at the beginning of the items that are not kept any more. */
  omitted: number;
  /** Grows with each change. */
  revision: number;
}

/** Told after each change. status: whether the run began, waits, goes on or has ended with it. */
export type RunListener = (run: Run, status: boolean) => void;

const live: readonly RunStatus[] = ["queued", "running", "waiting"];

/** Of a run, or of the last one of a session. */
export function isLive({ status }: { status?: RunStatus | "interrupted" }): boolean {
  return live.some((one) => one === status);
}

export interface Bounds {
  /** Runs that have ended. */
  finished: number;
  /** UTF-16 code units of all runs: texts and arguments. */
  text: number;
}

export class Runs {
  readonly #runs = new Map<string, Run>();
  readonly #sizes = new Map<string, number>();
  readonly #listeners = new Set<RunListener>();
  readonly #bounds: Bounds;
  readonly #now: () => number;

  constructor(bounds: Bounds = { finished: 200, text: 8 << 20 }, now: () => number = Date.now) {
    this.#bounds = bounds;
    this.#now = now;
  }

  onDidChange(listener: RunListener): { dispose(): void } {
    this.#listeners.add(listener);
    return { dispose: () => this.#listeners.delete(listener) };
  }

  get(runId: string): Run | undefined {
    return this.#runs.get(runId);
  }

  /** Those that live, the oldest first. */
  active(): Run[] {
    return this.all().filter(isLive);
  }

  /** Those of a session, the oldest first. */
  of(session: string): Run[] {
    return this.all().filter((run) => run.session === session);
  }

  /** The oldest first. */
  all(): Run[] {
    return [...this.#runs.values()];
  }

  /** Adds a run of ours before its first event. */
  expect(known: { id: string; session?: string; mode?: Mode; prompt?: string }): void {
    const run = this.#make(known.id, known.session ?? "");
    if (known.mode !== undefined) run.mode = known.mode;
    if (known.prompt !== undefined) run.prompt = known.prompt;
    this.#tell(run, true);
  }

  /** Learns of runs what their events do not tell: agentls.runs does. */
  describe(infos: readonly RunInfo[]): void {
    for (const info of infos) {
      const run = this.#runs.get(info.runId);
      if (run === undefined || run.prompt !== undefined) continue;
      run.mode = info.mode;
      run.prompt = info.prompt;
      this.#tell(run, false);
    }
  }

  apply(event: RunEvent): void {
    const run = this.#make(event.runId, event.session);
    if (!isLive(run) || event.seq <= run.seq) return; // nothing of a run comes after its end
    run.incomplete ||= event.seq !== run.seq + 1;
    run.seq = event.seq;
    run.session = event.session;
    const before = run.status;
    this.#take(run, event);
    this.#bound(run);
    this.#tell(run, event.seq === 1 || run.status !== before);
  }

  /** A command of ours was answered. */
  answered(result: RunResult): void {
    const run = this.#runs.get(result.runId);
    if (run === undefined || isLive(result)) return; // detached: its end is told by an event
    run.result = { ...result, text: "" };
    if (isLive(run)) this.#end(run, result.status);
    else this.#tell(run, false);
  }

  /** A command of ours ended with an error, or was cancelled; its events may have said so before. */
  ended(runId: string, status: "failed" | "cancelled", error?: Failure): void {
    const run = this.#runs.get(runId);
    if (run === undefined || !isLive(run)) return;
    if (error !== undefined) run.error = error;
    this.#end(run, status);
  }

  /** One that never began: nothing is to be shown of it. */
  forget(runId: string): void {
    const run = this.#runs.get(runId);
    if (run === undefined || run.seq > 0) return;
    this.#runs.delete(runId);
    this.#tell(run, true);
  }

  /** The server is gone: what lived has failed. */
  lost(reason: string): void {
    for (const run of this.active())
      this.ended(run.id, "failed", { message: reason, kind: "internal", retryable: true });
  }

  #make(id: string, session: string): Run {
    let run = this.#runs.get(id);
    if (run === undefined) {
      const startedAt = this.#now();
      run = { id, session, status: "queued", items: [], startedAt, seq: 0, incomplete: false, omitted: 0, revision: 0 };
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
        run.startedAt = this.#now();
        return;
      case "text":
      case "reasoning":
        this.#append(run, event.kind, event.delta);
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
        this.#approval(run, event.approval);
        return;
      case "usage":
        run.usage = event.usage;
        return;
      case "finished":
        if (event.stopReason !== undefined) run.stopReason = event.stopReason;
        if (event.error !== undefined) run.error = event.error;
        if (event.changed !== undefined) run.changed = event.changed;
        this.#close(run, event.status);
    }
  }

  #append(run: Run, kind: "text" | "reasoning", delta: string): void {
    const last = run.items.at(-1);
    if (last?.kind === kind) last.text += delta;
    else run.items.push({ kind, text: delta });
    this.#grow(run, delta.length);
  }

  #approval(run: Run, approval: ApprovalEvent): void {
    put(run, { kind: "approval", approval }, (i) => i.kind === "approval" && i.approval.id === approval.id);
    const open = run.items.some((i) => i.kind === "approval" && i.approval.state === "open");
    run.status = open ? "waiting" : "running";
  }

  /** Ids count for the calls that are under way: some providers give the same ones in each answer. */
  #call(run: Run, call: ToolCallEvent): void {
    const begins = call.state === "pending" || call.state === "running";
    const same = (i: Item) =>
      i.kind === "tool" && i.call.id === call.id && i.call.part === call.part && !(begins && i.endedAt !== undefined);
    const old = run.items.findLast(same);
    const before = old?.kind === "tool" ? old : undefined;
    if (call.arguments !== undefined && before?.call.arguments === undefined) {
      this.#grow(run, JSON.stringify(call.arguments).length);
    }
    const item: Item = {
      kind: "tool",
      call: { ...before?.call, ...call },
      startedAt: before?.startedAt ?? this.#now(),
    };
    if (!begins) item.endedAt = this.#now();
    put(run, item, same);
  }

  /** What is open of a run that has ended is so no more. */
  #close(run: Run, status: RunStatus): void {
    run.status = status;
    run.endedAt = this.#now();
    for (const item of run.items) {
      if (item.kind === "approval" && item.approval.state === "open") {
        item.approval = { ...item.approval, state: "resolved" };
      }
      if (item.kind === "tool" && item.endedAt === undefined) {
        item.call = { ...item.call, state: item.call.state === "pending" ? "cancelled" : "unknown" };
        item.endedAt = run.endedAt;
      }
    }
  }

  #end(run: Run, status: RunStatus): void {
    this.#close(run, status);
    this.#bound(run);
    this.#tell(run, true);
  }

  #size = 0;

  #grow(run: Run, by: number): void {
    this.#size += by;
    this.#sizes.set(run.id, (this.#sizes.get(run.id) ?? 0) + by);
  }

  /** Forgets the oldest runs that have ended, then the beginning of the one that grows. */
  #bound(run: Run): void {
    if (this.#size <= this.#bounds.text && (isLive(run) || this.#runs.size <= this.#bounds.finished)) return;
    const finished = this.all().filter((r) => !isLive(r));
    let over = finished.length - this.#bounds.finished;
    for (const old of finished) {
      if ((over-- <= 0 && this.#size <= this.#bounds.text) || old === run) break;
      this.#runs.delete(old.id);
      this.#grow(old, -(this.#sizes.get(old.id) ?? 0));
      this.#sizes.delete(old.id);
    }
    if (this.#size > this.#bounds.text) this.#shorten(run, this.#size - Math.floor((this.#bounds.text * 3) / 4));
  }

  #shorten(run: Run, by: number): void {
    for (const item of run.items) {
      if (by <= 0) return;
      if (item.kind !== "text" && item.kind !== "reasoning") continue;
      const cut = Math.min(by, item.text.length);
      item.text = item.text.slice(cut);
      run.omitted += cut;
      by -= cut;
      this.#grow(run, -cut);
    }
  }

  #tell(run: Run, status: boolean): void {
    run.revision++;
    for (const listener of this.#listeners) listener(run, status);
  }
}

/** Replaces the last item that is the same one, or adds it. */
function put(run: Run, item: Item, same: (item: Item) => boolean): void {
  const index = run.items.findLastIndex(same);
  if (index < 0) run.items.push(item);
  else run.items[index] = item;
}
