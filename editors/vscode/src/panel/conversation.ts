/** The conversation that the chat view shows, and what of it the view has been told. Without vscode. */
import type { SessionText } from "../protocol.js";
import type { Item, Run, Runs } from "../runs.js";
import type { RowPatch, TextPatch, ToPanel, Turn, TurnHead } from "./messages.js";
import { changing, headOf, pastTurns, rowOf, steerRow, turnOf, type Extra } from "./turns.js";

/** What was told of a run. */
interface Told {
  head: string;
  items: { item: Item; length: number; state: string }[];
  steers: number;
  omitted: number;
}

/** One session: its past as it was loaded, and the runs of this window. */
export class Conversation {
  title = "";
  loading = false;
  #past: Turn[] = [];
  #omitted: string | undefined;
  readonly #told = new Map<string, Told>();
  readonly #extras = new Map<string, Extra>();

  constructor(
    readonly session: string,
    readonly runs: Runs,
    readonly labelOf: (uri: string) => string,
  ) {}

  /** Takes what the session was before; what runs of this window tell is theirs. */
  load(text: SessionText): void {
    this.title = text.title;
    this.#omitted = text.note;
    this.#past = pastTurns(text, (id) => this.runs.get(id)?.session === this.session);
  }

  /** Nothing of it could be loaded: says why. */
  failed(why: string): void {
    this.#omitted = why;
  }

  /** Whether it has a past. */
  get isLoaded(): boolean {
    return this.#past.length > 0;
  }

  /** Whether a run is shown here. */
  has(runId: string): boolean {
    return this.runs.get(runId)?.session === this.session;
  }

  turn(id: string): Turn | undefined {
    const run = this.has(id) ? this.runs.get(id) : undefined;
    return run ? turnOf(run, this.#extras.get(id), this.labelOf) : this.#past.find((t) => t.id === id);
  }

  extra(runId: string): Extra {
    let extra = this.#extras.get(runId);
    if (extra === undefined) {
      extra = { steers: [], results: new Map() };
      this.#extras.set(runId, extra);
    }
    return extra;
  }

  /** Files that runs changed: links to them lead where the server said. */
  changed(uri: string): boolean {
    return this.runs.of(this.session).some((run) => run.changed?.some((c) => c.uri === uri));
  }

  /** All of it; from then on patches say what changed. */
  whole(): ToPanel {
    const runs = this.runs.of(this.session);
    this.#told.clear();
    for (const run of runs) this.#told.set(run.id, told(run, this.#extras.get(run.id), this.labelOf));
    const turns = [...this.#past, ...runs.map((run) => turnOf(run, this.#extras.get(run.id), this.labelOf))];
    return {
      type: "conversation",
      session: this.session,
      title: this.titleOr(runs[0]?.prompt),
      turns,
      loading: this.loading,
      ...(this.#omitted === undefined ? {} : { omitted: this.#omitted }),
    };
  }

  titleOr(prompt: string | undefined): string {
    return this.title === "" ? (prompt ?? "").split("\n", 1)[0]!.slice(0, 80) : this.title;
  }

  /** What is new of runs since they were told of. */
  patch(ids: Iterable<string>): ToPanel | undefined {
    const heads: TurnHead[] = [];
    const rows: RowPatch[] = [];
    const append: TextPatch[] = [];
    for (const id of ids) {
      const run = this.runs.get(id);
      if (run?.session !== this.session) continue;
      if (run.omitted > (this.#told.get(id)?.omitted ?? run.omitted)) return this.whole(); // texts lost their beginning
      this.#patchRun(run, { heads, rows, append });
    }
    if (heads.length + rows.length + append.length === 0) return undefined;
    const title = this.titleOr(this.runs.of(this.session)[0]?.prompt);
    return { type: "patch", session: this.session, title, heads, rows, append };
  }

  #patchRun(run: Run, to: { heads: TurnHead[]; rows: RowPatch[]; append: TextPatch[] }): void {
    const extra = this.#extras.get(run.id);
    const before = this.#told.get(run.id);
    const now = told(run, extra, this.labelOf);
    this.#told.set(run.id, now);
    if (before?.head !== now.head) to.heads.push(headOf(run, extra, this.labelOf));
    for (let n = before?.steers ?? 0; n < now.steers; n++) {
      to.rows.push({ turn: run.id, row: steerRow(n, extra?.steers[n]?.text ?? "") });
    }
    now.items.forEach((is, i) => {
      const was = before?.items[i];
      if (was?.item === is.item && was.length === is.length && was.state === is.state) return;
      if (was?.item === is.item && (is.item.kind === "text" || is.item.kind === "reasoning")) {
        to.append.push({ turn: run.id, row: String(i), text: is.item.text.slice(was.length) });
        return;
      }
      const row = rowOf(run, i, extra);
      if (row) to.rows.push({ turn: run.id, row });
    });
  }
}

function told(run: Run, extra: Extra | undefined, labelOf: (uri: string) => string): Told {
  return {
    head: JSON.stringify(headOf(run, extra, labelOf)),
    items: run.items.map((item) => ({ item, length: lengthOf(item), state: changing(run, item, extra) })),
    steers: extra?.steers.length ?? 0,
    omitted: run.omitted,
  };
}

const lengthOf = (item: Item): number => (item.kind === "text" || item.kind === "reasoning" ? item.text.length : 0);
