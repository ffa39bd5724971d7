/** The book of open questions: each is settled exactly once. Without vscode. */
import { kept, takes } from "./answer.js";
import type { Answer, Question } from "./question.js";

/** How an answer is told; undefined: the question was taken away, nobody waits for it. */
type Settle = (answer: Answer | undefined) => void;

interface Entry {
  question: Question;
  settle: Settle;
  /** It is only known from what the server holds, not from a request that waits. */
  restored: boolean;
}

/** A question that was put. */
export interface Asked {
  question: Question;
  /** Undefined: it was taken away. */
  answer: Promise<Answer | undefined>;
  /** Takes it away; does nothing once it is settled. */
  withdraw(): void;
}

/** `answered`; `closed`: nobody asks that any more; `refused`: the question does not take such an answer. */
export type Outcome = "answered" | "closed" | "refused";

const keptAnswers = 50;
const keptIds = 1000;

export class Book {
  #entries: Entry[] = [];
  #seq = 0;
  readonly #listeners = new Set<() => void>();
  /** Of forms and plans, by question: asked about anew, what was said is shown again. */
  readonly #said = new Map<string, Record<string, unknown>>();
  /** What a person answered here: what the server lists of it is on its way to be settled. */
  readonly #answered = new Set<string>();

  /** In the order they came. */
  get open(): readonly Question[] {
    return this.#entries.map((e) => e.question);
  }

  onDidChange(listener: () => void): { dispose(): void } {
    this.#listeners.add(listener);
    return { dispose: () => this.#listeners.delete(listener) };
  }

  find(id: string): Question | undefined {
    return this.#entries.find((e) => e.question.id === id)?.question;
  }

  /** Puts a question that a request of the server waits for. One of the same id takes the place of the one before. */
  ask(asked: Omit<Question, "seq">): Asked {
    let settle: Settle = () => undefined;
    const answer = new Promise<Answer | undefined>((resolve) => {
      settle = resolve;
    });
    const said = asked.problem === "" ? undefined : this.#said.get(asked.id);
    const entry = this.#put({ ...asked, ...(said && { previous: said }) }, settle, false);
    this.#tell();
    return {
      question: entry.question,
      answer,
      withdraw: () => {
        this.#take((e) => e === entry);
      },
    };
  }

  /**
   * Takes up what the server holds and the book lacks, and lets go what was taken up before and is settled since.
   * answer: tells the server.
   */
  restore(held: readonly Omit<Question, "seq">[], answer: (q: Question, a: Answer) => void): void {
    const ids = new Set(held.map((q) => q.id));
    let changed = this.#drop((e) => e.restored && !ids.has(e.question.id));
    for (const asked of held) {
      if (this.#answered.has(asked.id) || this.find(asked.id) !== undefined) continue;
      const entry: Entry = this.#put(
        asked,
        (a) => {
          if (a !== undefined) answer(entry.question, a);
        },
        true,
      );
      changed = true;
    }
    if (changed) this.#tell();
  }

  answer(id: string, a: Answer): Outcome {
    const entry = this.#entries.find((e) => e.question.id === id);
    if (entry === undefined) return "closed";
    if (!takes(entry.question, a)) return "refused";
    const said = kept(entry.question, a);
    if (said !== undefined) bounded(this.#said, keptAnswers).set(id, said);
    bounded(this.#answered, keptIds).add(id);
    this.#entries = this.#entries.filter((e) => e !== entry);
    entry.settle(a);
    this.#tell();
    return "answered";
  }

  /** It was not told after all: it may be taken up again. */
  untold(id: string): void {
    this.#answered.delete(id);
  }

  /** Somebody else settled it. */
  close(id: string): void {
    this.#take((e) => e.question.id === id);
  }

  closeRun(runId: string): void {
    this.#take((e) => runId !== "" && e.question.runId === runId);
  }

  /** The server is gone, and with it all that waited. */
  closeAll(): void {
    this.#take(() => true);
    this.#said.clear();
    this.#answered.clear();
  }

  #put(asked: Omit<Question, "seq">, settle: Settle, restored: boolean): Entry {
    const entry: Entry = { question: { ...asked, seq: ++this.#seq }, settle, restored };
    const at = this.#entries.findIndex((e) => e.question.id === asked.id);
    if (at < 0) {
      this.#entries = [...this.#entries, entry];
    } else {
      this.#entries[at]?.settle(undefined);
      this.#entries = this.#entries.with(at, entry);
    }
    return entry;
  }

  #take(which: (e: Entry) => boolean): void {
    if (this.#drop(which)) this.#tell();
  }

  #drop(which: (e: Entry) => boolean): boolean {
    const gone = this.#entries.filter(which);
    if (gone.length === 0) return false;
    this.#entries = this.#entries.filter((e) => !gone.includes(e));
    for (const e of gone) e.settle(undefined);
    return true;
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}

/** Drops the oldest where there is no room for another. */
function bounded<C extends Map<string, unknown> | Set<string>>(collection: C, size: number): C {
  for (const key of collection.keys()) {
    if (collection.size < size) break;
    collection.delete(key);
  }
  return collection;
}
