import type { Answer, Question } from "../src/questions/question.js";
import { el } from "./dom.js";
import { QuestionCard, type Draft } from "./question.js";

/** What has been begun, by question: it outlives the page. */
export type Drafts = Record<string, Draft>;

export interface QuestionEvents {
  answer(id: string, answer: Answer): void;
  showDiff(id: string): void;
  /** Tells what has been begun, to be kept. */
  drafts(drafts: Drafts): void;
  /** Where the focus goes when the last card that had it is gone. */
  leave(): void;
  /** Says to who cannot see it that something is asked. */
  announce(text: string): void;
}

/** The questions that are open, as cards in the order they came. */
export class QuestionList {
  readonly element = el("div", { class: "questions", role: "region", "aria-label": "Questions", hidden: "" });
  private cards: QuestionCard[] = [];

  constructor(
    private readonly drafts: Drafts,
    private readonly on: QuestionEvents,
  ) {}

  /** Shows these. at: the id of the one to turn to. A card that stays is not touched: somebody may type in it. */
  update(questions: readonly Question[], at?: string): void {
    const old = this.cards;
    const had = old.findIndex((c) => c.element.contains(document.activeElement));
    this.cards = questions.map(
      (q) => old.find((c) => c.question.id === q.id && c.question.seq === q.seq) ?? this.card(q),
    );
    for (const card of old) if (!this.cards.includes(card)) card.dispose();
    for (const [i, card] of this.cards.entries()) {
      if (this.element.children[i] !== card.element)
        this.element.insertBefore(card.element, this.element.children[i] ?? null);
      card.place(i + 1, this.cards.length);
    }
    this.element.hidden = this.cards.length === 0;
    this.forget(questions);
    this.announce(old);
    this.focus(old, had, at);
  }

  private card(q: Question): QuestionCard {
    return new QuestionCard(q, (this.drafts[q.id] ??= {}), {
      answer: (answer) => this.on.answer(q.id, answer),
      showDiff: () => this.on.showDiff(q.id),
      draft: () => this.on.drafts(this.drafts),
    });
  }

  private forget(questions: readonly Question[]): void {
    const gone = Object.keys(this.drafts).filter((id) => !questions.some((q) => q.id === id));
    for (const id of gone) Reflect.deleteProperty(this.drafts, id);
    if (gone.length > 0) this.on.drafts(this.drafts);
  }

  private announce(old: readonly QuestionCard[]): void {
    const fresh = this.cards.filter((c) => !old.includes(c));
    if (fresh.length > 0) this.on.announce(`agentls asks: ${fresh[0]!.element.querySelector("h3")!.textContent}`);
  }

  /** Turns to what is to be reviewed; else the focus of a card that is gone goes to the one in its place, never to a button. */
  private focus(old: readonly QuestionCard[], had: number, at: string | undefined): void {
    const to = at === undefined ? undefined : this.cards.find((c) => c.question.id === at);
    if (to !== undefined) to.focus();
    else if (had >= 0 && !this.cards.includes(old[had]!)) {
      const next = this.cards[Math.min(had, this.cards.length - 1)];
      if (next === undefined) this.on.leave();
      else next.focus();
    }
  }
}
