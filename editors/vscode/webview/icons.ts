import add from "@vscode/codicons/src/icons/add.svg";
import arrowDown from "@vscode/codicons/src/icons/arrow-down.svg";
import attach from "@vscode/codicons/src/icons/attach.svg";
import check from "@vscode/codicons/src/icons/check.svg";
import chevronDown from "@vscode/codicons/src/icons/chevron-down.svg";
import chevronRight from "@vscode/codicons/src/icons/chevron-right.svg";
import circle from "@vscode/codicons/src/icons/circle-large.svg";
import circleSlash from "@vscode/codicons/src/icons/circle-slash.svg";
import close from "@vscode/codicons/src/icons/close.svg";
import copy from "@vscode/codicons/src/icons/copy.svg";
import discard from "@vscode/codicons/src/icons/discard.svg";
import error from "@vscode/codicons/src/icons/error.svg";
import file from "@vscode/codicons/src/icons/file.svg";
import insert from "@vscode/codicons/src/icons/insert.svg";
import loading from "@vscode/codicons/src/icons/loading.svg";
import newFile from "@vscode/codicons/src/icons/new-file.svg";
import pass from "@vscode/codicons/src/icons/pass.svg";
import person from "@vscode/codicons/src/icons/person.svg";
import question from "@vscode/codicons/src/icons/question.svg";
import refresh from "@vscode/codicons/src/icons/refresh.svg";
import send from "@vscode/codicons/src/icons/send.svg";
import server from "@vscode/codicons/src/icons/server.svg";
import skipped from "@vscode/codicons/src/icons/debug-step-over.svg";
import stop from "@vscode/codicons/src/icons/debug-stop.svg";
import symbolKeyword from "@vscode/codicons/src/icons/symbol-keyword.svg";
import symbolValue from "@vscode/codicons/src/icons/symbol-parameter.svg";
import tasklist from "@vscode/codicons/src/icons/tasklist.svg";
import template from "@vscode/codicons/src/icons/symbol-interface.svg";
import thinking from "@vscode/codicons/src/icons/lightbulb.svg";
import tools from "@vscode/codicons/src/icons/tools.svg";
import warning from "@vscode/codicons/src/icons/warning.svg";
import watch from "@vscode/codicons/src/icons/watch.svg";

// prettier-ignore
const drawings = {
  add, arrowDown, attach, check, chevronDown, chevronRight, circle, circleSlash, close, copy, discard, error, file, insert,
  loading, newFile, pass, person, question, refresh, send, server, skipped, stop, symbolKeyword, symbolValue, tasklist,
  template, thinking, tools, warning, watch,
};

export type IconName = keyof typeof drawings;

const made = new Map<IconName, SVGElement>();

/** A codicon in the colour of the text around it; named, it is an image for a screen reader, else it is decoration. */
export function icon(name: IconName, label?: string, tone?: string): SVGElement {
  let drawing = made.get(name);
  if (!drawing) {
    const parsed = new DOMParser().parseFromString(drawings[name], "image/svg+xml").documentElement;
    drawing = document.importNode(parsed, true) as unknown as SVGElement;
    drawing.setAttribute("fill", "currentColor");
    made.set(name, drawing);
  }
  const svg = drawing.cloneNode(true) as SVGElement;
  svg.setAttribute("class", ["icon", `icon-${name}`, ...(tone === undefined ? [] : [`tone-${tone}`])].join(" "));
  if (label === undefined) {
    svg.setAttribute("aria-hidden", "true");
  } else {
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", label);
  }
  return svg;
}

/** How a state of a call, a step or a run looks: its icon, its words, the tone of its colour. */
export function stateOf(state: string): { icon: IconName; words: string; tone?: string } {
  switch (state) {
    case "pending":
      return { icon: "circle", words: "pending" };
    case "queued":
      return { icon: "watch", words: "waits for its turn" };
    case "running":
      return { icon: "loading", words: "running" };
    case "waiting":
      return { icon: "question", words: "waits for you", tone: "ask" };
    case "called": // loaded: how it ended is not in the session
      return { icon: "tools", words: "was called" };
    case "completed":
      return { icon: "pass", words: "completed", tone: "good" };
    case "failed":
      return { icon: "error", words: "failed", tone: "bad" };
    case "rejected":
      return { icon: "circleSlash", words: "rejected", tone: "warn" };
    case "denied":
      return { icon: "circleSlash", words: "denied by a rule", tone: "warn" };
    case "cancelled":
      return { icon: "circleSlash", words: "cancelled" };
    case "stopped":
      return { icon: "warning", words: "stopped", tone: "warn" };
    case "skipped":
      return { icon: "skipped", words: "skipped" };
    case "unknown":
      return { icon: "warning", words: "outcome unknown", tone: "warn" };
    default:
      return { icon: "circle", words: state };
  }
}
