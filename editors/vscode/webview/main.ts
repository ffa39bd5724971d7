import type { Attachment, Chrome, FromPanel, ToPanel } from "../src/panel/messages.js";
import type { Mode } from "../src/protocol.js";
import { Announcer } from "./announce.js";
import { Composer } from "./composer.js";
import { button, el, type Drawing } from "./dom.js";
import { icon, stateOf } from "./icons.js";
import { codeBar } from "./line.js";
import { List } from "./list.js";
import { QuestionList, type Drafts } from "./questionlist.js";
import { empty, liveTurn, promptsOf, take, type Change } from "./state.js";
import type { Surroundings } from "./view.js";

/** What outlives the page: VS Code keeps it for the view. */
interface Kept {
  session?: string;
  draft?: string;
  mode?: Mode;
  attachment?: Attachment;
  sent?: string[];
  unfolded?: string[];
  answers?: Drafts;
}

declare function acquireVsCodeApi(): {
  postMessage(m: FromPanel): void;
  getState(): Kept | undefined;
  setState(s: Kept): void;
};

const vscode = acquireVsCodeApi();
const kept: Kept = vscode.getState() ?? {};
const post = (m: FromPanel): void => vscode.postMessage(m);

const state = empty();
const drawing: Drawing = {
  open: (href) => post({ type: "open", href }),
  codeBar: (language, text) => codeBar(language, text, { post }),
};
const on: Surroundings = {
  post,
  drawing,
  unfolded: new Set(kept.unfolded),
  toInput: (text) => composer.input.restore(text),
};

const title = button("Switch to another conversation", undefined, () => post({ type: "action", action: "sessions" }));
const chips = el("nav", { class: "chips", "aria-label": "Runs of other conversations", hidden: "" });
const banner = el("div", { class: "banner", role: "status", hidden: "" });
const log = el("div", { class: "log" });
const scroller = el(
  "div",
  { class: "scroller", role: "log", "aria-live": "off", "aria-label": "Conversation", tabindex: "0" },
  log,
);
const jump = button("Jump to the end", icon("arrowDown"), () => list.toEnd());
const announcer = new Announcer();
const list = new List(scroller, log, on, (following) => (jump.hidden = following));

const composer: Composer = new Composer({
  post,
  drawing,
  isLive: () => liveTurn(state) !== undefined,
  sent: () => [...new Set([...promptsOf(state), ...(kept.sent ?? [])])],
  send: (text, how) => {
    kept.sent = [...(kept.sent ?? []).filter((s) => s !== text), text].filter((s) => s.length < 20_000).slice(-50);
    composer.say("");
    post({ type: "send", text, how });
    list.toEnd();
    keep();
  },
  cancel: () => {
    const turn = liveTurn(state);
    if (turn) {
      post({ type: "cancel", turn: turn.id });
    }
  },
  leave: () => focusLine(list.elements().at(-1)),
  changed: keepSoon,
});

const questions = new QuestionList((kept.answers ??= {}), {
  answer: (id, answer) => post({ type: "answer", id, answer }),
  showDiff: (id) => post({ type: "diff", id }),
  drafts: keepSoon,
  leave: () => composer.input.focus(),
  announce: (text) => announcer.say(text),
});

function build(): void {
  title.classList.add("title");
  jump.classList.add("jump");
  jump.hidden = true;
  const middle = el("main", {}, scroller, jump);
  document.body.append(el("header", {}, title), chips, banner, middle);
  document.body.append(questions.element, composer.element, announcer.element);
  scroller.addEventListener("keydown", walk);
  composer.input.text.value = kept.draft ?? "";
  composer.input.fit();
  composer.showMode(kept.mode ?? "react");
  composer.showAttachment(kept.attachment);
  showTitle();
  window.addEventListener("message", (e: MessageEvent<ToPanel>) => receive(e.data));
  post({
    type: "ready",
    ...(kept.session === undefined ? {} : { session: kept.session }),
    draft: kept.draft ?? "",
    version: 0,
    mode: kept.mode ?? "react",
    ...(kept.attachment ? { attachment: kept.attachment } : {}),
  });
}

function receive(m: ToPanel): void {
  switch (m.type) {
    case "conversation":
    case "patch":
      enqueue(m);
      return;
    case "chrome":
      showChrome(m.chrome);
      return;
    case "insert":
      composer.input.insert(m.text);
      return;
    case "prompt":
      composer.input.restore(m.text);
      return;
    case "draft": // of before the window was reloaded
      composer.input.set(m.text);
      return;
    case "mode":
      kept.mode = m.mode;
      composer.showMode(m.mode);
      keep();
      return;
    case "attached":
      delete kept.attachment;
      Object.assign(kept, m.attachment ? { attachment: m.attachment } : {});
      composer.showAttachment(m.attachment ?? undefined);
      keep();
      return;
    case "focus":
      composer.input.focus();
      return;
    case "reveal":
      flush();
      list.reveal(m.turn);
      return;
    case "refused": // nothing that was typed is lost
      composer.input.restore(m.text);
      composer.say(m.why);
      announcer.say(m.why);
      return;
    case "suggestions":
      composer.input.takeSuggestions(m);
      return;
    case "problems":
      composer.input.takeProblems(m.version, m.problems);
      return;
    case "questions":
      questions.update(m.questions, m.at);
      return;
  }
}

// What comes in is taken at once and drawn once a frame; a frame that took long
// is followed by a rest, so that the page answers to its person.
let changes: Change | undefined;
let resting = 0;

function enqueue(m: Extract<ToPanel, { type: "conversation" | "patch" }>): void {
  const change = take(state, m);
  announcer.take(change);
  if (!changes || change.all) {
    const pending = changes !== undefined;
    changes = change;
    if (!pending) {
      requestAnimationFrame(flush);
    }
    return;
  }
  changes.structure ||= change.structure;
  for (const [key, added] of change.touched) {
    const before = changes.touched.get(key);
    const whole = added === undefined || (changes.touched.has(key) && before === undefined);
    changes.touched.set(key, whole ? undefined : (before ?? "") + added);
  }
}

function flush(): void {
  const change = changes;
  if (!change) {
    return;
  }
  const now = performance.now();
  if (now < resting) {
    requestAnimationFrame(flush);
    return;
  }
  changes = undefined;
  list.draw(state, change);
  composer.showLive(liveTurn(state) !== undefined);
  showTitle();
  if (kept.session !== state.session) {
    kept.session = state.session;
    keep();
  }
  resting = performance.now() + Math.min(250, 2 * (performance.now() - now));
}

function showTitle(): void {
  const words = state.title === "" ? "New conversation" : state.title;
  title.replaceChildren(el("span", { class: "words" }, words), icon("chevronDown"));
  title.setAttribute("aria-label", `${words}: switch to another conversation`);
  log.classList.toggle("empty", state.turns.length === 0);
  log.dataset["hint"] = state.loading
    ? "Loading the conversation…"
    : "Ask about this workspace, or about what your MCP servers know.";
}

function showChrome(c: Chrome): void {
  composer.showModel(c.model);
  chips.hidden = c.chips.length === 0;
  chips.replaceChildren(
    ...c.chips.map((chip) => {
      const { icon: name, words, tone } = stateOf(chip.status);
      return button(
        `${chip.title}: ${words}`,
        icon(name, words, tone),
        () => post({ type: "show", session: chip.session }),
        chip.title,
      );
    }),
  );
  const act = (action: "setup" | "log" | "restart", words: string): Node =>
    button(words, undefined, () => post({ type: "action", action }), words);
  const why = c.reason ?? "";
  const parts: (Node | string)[] =
    c.server === "ready"
      ? c.offline
        ? ["No language model is set up: a stand-in answers.", act("setup", "Set up…")]
        : []
      : c.server === "starting" || c.server === "restarting"
        ? [icon("loading"), c.server === "starting" ? "agentls is starting…" : `agentls is restarting… ${why}`]
        : [
            icon("error", "Error", "bad"),
            why === "" ? "agentls does not run." : why,
            act("restart", "Restart"),
            act("log", "Show log"),
          ];
  banner.hidden = parts.length === 0;
  banner.replaceChildren(...parts);
}

// By keyboard: Ctrl+Up goes from the input to the last line, up and down walk
// the lines, Ctrl+Down goes back.
function walk(e: KeyboardEvent): void {
  const lines = list.elements();
  const at = lines.findIndex((l) => l.contains(document.activeElement));
  const onLine =
    at >= 0 && (document.activeElement === lines[at] || document.activeElement?.parentElement === lines[at]);
  if ((e.ctrlKey || e.metaKey) && e.key === "ArrowDown") {
    composer.input.focus();
  } else if (e.key === "ArrowUp" && !e.ctrlKey && onLine) {
    focusLine(lines[Math.max(0, at - 1)]);
  } else if (e.key === "ArrowDown" && !e.ctrlKey && onLine) {
    focusLine(lines[Math.min(lines.length - 1, at + 1)]);
  } else if (e.key === "ArrowUp" && document.activeElement === scroller && e.altKey) {
    focusLine(lines.at(-1));
  } else {
    return;
  }
  e.preventDefault();
}

function focusLine(line: HTMLElement | undefined): void {
  if (line instanceof HTMLDetailsElement) {
    line.querySelector("summary")?.focus();
    return;
  }
  line?.setAttribute("tabindex", "-1");
  (line ?? scroller).focus();
}

let keepTimer: ReturnType<typeof setTimeout> | undefined;

function keepSoon(): void {
  clearTimeout(keepTimer);
  keepTimer = setTimeout(keep, 100);
}

function keep(): void {
  kept.draft = composer.input.value;
  kept.unfolded = [...on.unfolded].slice(-500);
  vscode.setState(kept);
}

window.addEventListener("pagehide", keep);
build();
