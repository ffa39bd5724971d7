import { parts } from "../src/questions/body.js";
import type { Typed } from "../src/questions/form.js";
import type { Answer, Question, Step } from "../src/questions/question.js";
import { buttons, descriptionOf, left, title, whose, type Button } from "../src/questions/words.js";
import { el } from "./dom.js";
import { ArgumentsEditor } from "./questionarguments.js";
import { FormView } from "./questionform.js";
import { drawDescription, drawParts, drawPreview, shown } from "./questionparts.js";
import { PlanView } from "./questionplan.js";
import { Steady } from "./questionsteady.js";

/** What a person has begun to answer. No secrets: it is kept for the page's next life. */
export interface Draft {
  reason?: string;
  arguments?: string;
  typed?: Record<string, Typed>;
  steps?: Step[];
}

export interface CardEvents {
  answer(answer: Answer): void;
  showDiff(): void;
  draft(draft: Draft): void;
}

/**
 * One question as a card. Nothing in it says yes but a click, Enter or Space on a button that says so: none of them
 * ever has the focus by itself, and none counts before the card has stood still for a while.
 */
export class QuestionCard {
  readonly element: HTMLElement;
  private readonly position = el("span", { class: "position" });
  private readonly left = el("span", { class: "left" });
  private readonly buttons: HTMLButtonElement[] = [];
  private readonly steady: Steady;
  private readonly timer: number;
  private readonly reason: HTMLTextAreaElement | undefined;
  private readonly problem = el("p", { class: "problem", role: "alert" });
  private arguments: ArgumentsEditor | undefined;
  private form: FormView | undefined;
  private plan: PlanView | undefined;
  private answered = false;

  constructor(
    readonly question: Question,
    private readonly draft: Draft,
    private readonly on: CardEvents,
  ) {
    const q = question;
    this.reason = this.reasonField();
    const row = el("div", { class: "buttons" }, ...buttons(q).map((b) => this.button(b)));
    const id = `question-${q.seq}`;
    this.element = el(
      "section",
      { class: `question ${q.kind}`, tabindex: "-1", role: "group", "aria-labelledby": id, "data-question": q.id },
      el("header", {}, el("h3", { id }, ...shown(title(q))), this.position),
      el("div", { class: "whose" }, el("span", {}, ...shown(whose(q))), this.left),
      ...this.body(),
      ...(this.reason ? [this.reason] : []),
      this.problem,
      row,
    );
    this.element.addEventListener("keydown", (e) => this.onKey(e));
    this.steady = new Steady(row, (steady) => this.enable(steady && !this.answered));
    this.timer = window.setInterval(() => this.showLeft(), 1000);
    this.showLeft();
  }

  /** Which of how many it is; words of none where it is the only one. */
  place(n: number, of: number): void {
    this.position.textContent = of > 1 ? `${n} of ${of}` : "";
    if (this.answered) {
      // the answer did not count, or this would be gone
      this.answered = false;
      this.element.removeAttribute("aria-busy");
    }
  }

  focus(): void {
    this.element.scrollIntoView({ block: "nearest" });
    this.element.focus({ preventScroll: true });
  }

  dispose(): void {
    this.steady.dispose();
    window.clearInterval(this.timer);
    this.element.remove();
  }

  private body(): Node[] {
    const q = this.question;
    const said = (text: string, sort: string): Node[] =>
      text === "" ? [] : [el("p", { class: sort }, ...shown(text))];
    const whole = q.kind === "trust";
    return [
      ...(q.form ? [] : said(q.problem, "problem")),
      ...(whole ? said(q.description, "warning") : drawDescription(descriptionOf(q), q.definitionChanged)),
      ...(q.definitionChanged
        ? [el("p", { class: "warning" }, "Its definition is not the one that was allowed before.")]
        : []),
      ...(q.link ? this.link() : []),
      ...(q.form ? this.formPart() : []),
      ...(q.kind === "plan" ? this.planPart() : []),
      ...(q.preview ? [drawPreview(q.preview, () => this.on.showDiff())] : []),
      ...this.argumentsPart(whole),
      ...(q.reason === "" ? [] : [el("p", { class: "reason" }, "Asked because: ", ...shown(q.reason))]),
      ...(whole && !q.decisions.includes("once")
        ? [
            el(
              "p",
              { class: "note" },
              "It is too long to be answered with a yes here. Read it in full, then trust the server by “Trust MCP Server…”, or save the file in the editor.",
            ),
          ]
        : []),
    ];
  }

  private argumentsPart(whole: boolean): Node[] {
    const q = this.question;
    const drawn = drawParts(parts(q), whole);
    const readable = el("div", { class: "parts" }, ...drawn);
    if (q.kind !== "tool" && q.kind !== "sample") return drawn.length === 0 ? [] : [readable];
    this.arguments = new ArgumentsEditor(q.arguments ?? {}, readable, this.draft.arguments, (text) =>
      this.keep({ arguments: text }),
    );
    if (q.preview === undefined) return [readable, this.arguments.element];
    // The diff says it all: what it was made of is for who wants to edit it.
    return [
      el(
        "details",
        { ...(this.draft.arguments === undefined ? {} : { open: "" }) },
        el("summary", {}, "Arguments"),
        readable,
        this.arguments.element,
      ),
    ];
  }

  private link(): Node[] {
    const { message, url, host } = this.question.link!;
    return [
      el("p", { class: "description" }, ...shown(message)),
      el("p", { class: "host" }, "The page is of ", el("strong", {}, ...shown(host))),
      el("pre", { class: "url", tabindex: "0", role: "group", "aria-label": "The whole address" }, ...shown(url)),
    ];
  }

  private formPart(): Node[] {
    this.form = new FormView(this.question, this.draft.typed, (typed) => this.keep({ typed }));
    return [el("p", { class: "description" }, ...shown(this.question.form!.message)), this.form.element];
  }

  private planPart(): Node[] {
    this.plan = new PlanView(this.question, this.draft.steps, (steps) => this.keep({ steps }));
    return [this.plan.element];
  }

  private reasonField(): HTMLTextAreaElement | undefined {
    const words = { tool: "Why not? (optional)", plan: "What should be different?" }[this.question.kind as string];
    if (words === undefined) return undefined;
    const field = el("textarea", { class: "why", rows: "1", placeholder: words, "aria-label": words });
    field.value = this.draft.reason ?? "";
    field.addEventListener("input", () => this.keep({ reason: field.value }));
    return field;
  }

  private button(b: Button): HTMLButtonElement {
    const remembered = b.answer.decision === "session" || b.answer.decision === "always";
    const covers =
      remembered && this.question.covers !== "" ? el("small", {}, ...shown(this.question.covers)) : undefined;
    const first = b.sense === "yes" && b.answer.decision === "once" && b.answer.content === undefined;
    const button = el(
      "button",
      { type: "button", class: first ? b.sense : `${b.sense} secondary` },
      el("span", {}, b.label),
      covers,
    );
    button.addEventListener("click", () => this.click(b));
    this.buttons.push(button);
    return button;
  }

  private click(b: Button): void {
    if (this.answered || !this.steady.is) return;
    const answer = this.answer(b);
    if (answer === undefined) return;
    this.answered = true;
    this.element.setAttribute("aria-busy", "true");
    this.enable(false);
    this.on.answer(answer);
  }

  /** What a button answers; undefined: something is lacking, and it is said what. */
  private answer(b: Button): Answer | undefined {
    const reason = this.reason?.value.trim() ?? "";
    this.say("");
    if (b.sends === "note" && reason === "") {
      this.say("Say what should be different.");
      this.reason?.focus();
      return undefined;
    }
    if (b.sense !== "yes") return reason === "" ? b.answer : { ...b.answer, reason };
    const content = b.sends === "form" ? this.form?.read() : b.sends === "steps" ? this.plan?.read() : b.answer.content;
    if (b.sends !== undefined && content === undefined) return undefined;
    const edited = this.arguments?.read();
    if (edited === false) return undefined;
    return {
      ...b.answer,
      ...(content === undefined || (b.sends === "steps" && Object.keys(content).length === 0) ? {} : { content }),
      ...(edited === undefined ? {} : { arguments: edited }),
    };
  }

  private say(problem: string): void {
    this.problem.textContent = problem;
  }

  /** aria-disabled, not disabled: a button that is not to be pressed yet keeps the focus that a person gave it. */
  private enable(enabled: boolean): void {
    for (const b of this.buttons) b.setAttribute("aria-disabled", String(!enabled));
  }

  private onKey(e: KeyboardEvent): void {
    const onButton = e.target instanceof HTMLButtonElement && this.buttons.includes(e.target);
    // A key that is held down was meant for what had the focus before.
    if (onButton && e.repeat && (e.key === "Enter" || e.key === " ")) e.preventDefault();
  }

  private showLeft(): void {
    const time = left(this.question, Date.now());
    this.left.textContent = time === undefined ? "" : `denied in ${time}`;
    this.left.classList.toggle("soon", (this.question.deadline ?? Infinity) - Date.now() < 60_000);
  }

  private keep(change: { [K in keyof Draft]: Draft[K] | undefined }): void {
    for (const [key, value] of Object.entries(change)) {
      if (value === undefined || value === "") Reflect.deleteProperty(this.draft, key);
      else Object.assign(this.draft, { [key]: value });
    }
    this.on.draft(this.draft);
  }
}
