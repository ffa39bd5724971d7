import type { Preview } from "../src/protocol.js";
import type { Part } from "../src/questions/body.js";
import { hunksOf } from "../src/questions/unified.js";
import { draw, el, type Drawing } from "./dom.js";
import { plain } from "./markdown.js";

const noLinks: Drawing = { open: () => undefined, codeBar: () => "" as unknown as Node };

/** A text of others: what cannot be seen in it is shown by name. */
export function shown(text: string): Node[] {
  return draw(plain(text), noLinks);
}

/** Lines and characters of which the beginning is shown until all is asked for. */
const foldedLines = 12;
const foldedCharacters = 2000;

/** The parts of a card. whole: nothing is folded away, since a yes is a yes to all of it. */
export function drawParts(parts: readonly Part[], whole: boolean): HTMLElement[] {
  return parts.map((part) => drawPart(part, whole));
}

function drawPart(part: Part, whole: boolean): HTMLElement {
  switch (part.kind) {
    case "text":
      return el("p", { class: "note" }, ...shown(part.text));
    case "value":
      return el("div", { class: "part" }, name(part.label), el("code", {}, ...shown(part.value)));
    case "list":
      return el(
        "div",
        { class: "part" },
        name(part.label),
        el("ul", {}, ...part.items.map((item) => el("li", {}, el("code", {}, ...shown(item))))),
      );
    case "block":
      return el("div", { class: "part" }, name(part.label), block(part.label, part.text, whole));
  }
}

const name = (label: string): HTMLElement => el("span", { class: "name" }, ...shown(label));

function block(label: string, text: string, whole: boolean): HTMLElement {
  const lines = text.replace(/\n$/, "").split("\n");
  const short = lines.slice(0, foldedLines).join("\n").slice(0, foldedCharacters);
  const all = lines.join("\n");
  const pre = (t: string): HTMLElement =>
    el("pre", { tabindex: "0", role: "group", "aria-label": label }, el("code", {}, ...shown(t)));
  if (whole || short === all) return pre(all);
  return folded(
    () => pre(short),
    () => pre(all),
    sizeOf(lines.length, all.length),
  );
}

function sizeOf(lines: number, characters: number): string {
  return lines > foldedLines ? `all ${lines} lines` : `all ${characters} characters`;
}

/** The beginning of something, and a button that turns to the whole and back. */
function folded(short: () => HTMLElement, all: () => HTMLElement, size: string): HTMLElement {
  const box = el("div", { class: "folded" }, short());
  const toggle = el("button", { type: "button", class: "toggle", "aria-expanded": "false" }, `Show ${size}`);
  toggle.addEventListener("click", () => {
    const open = toggle.getAttribute("aria-expanded") !== "true";
    toggle.setAttribute("aria-expanded", String(open));
    toggle.textContent = open ? "Show less" : `Show ${size}`;
    box.firstElementChild?.replaceWith(open ? all() : short());
  });
  box.append(toggle);
  return box;
}

/** Lines and characters of a description that are shown at first. */
const describedLines = 2;
const describedCharacters = 160;

/** What a server says of its tool, folded where it is long. whole: it is another one than was allowed, so all of it. */
export function drawDescription(text: string, whole: boolean): HTMLElement[] {
  if (text === "") return [];
  const p = (t: string): HTMLElement => el("p", { class: "description" }, ...shown(t));
  const lines = text.split("\n");
  const short = lines.slice(0, describedLines).join("\n").slice(0, describedCharacters);
  if (whole || short === text) return [p(text)];
  return [
    folded(
      () => p(`${short.trimEnd()}…`),
      () => p(text),
      "the whole description",
    ),
  ];
}

/** What an edit would change, with a button for the editor's own diff view. */
export function drawPreview(p: Preview, show: () => void): HTMLElement {
  const open = el("button", { type: "button", class: "secondary", title: "Compare in the diff editor" }, "Show Diff");
  open.addEventListener("click", show);
  const head = el(
    "div",
    { class: "part change" },
    el("code", {}, ...shown(p.path)),
    el("span", { class: "added", "aria-label": `${p.added} lines added` }, `+${p.added}`),
    el("span", { class: "removed", "aria-label": `${p.removed} lines removed` }, `−${p.removed}`),
    open,
  );
  const lines = linesOf(p.diff);
  const diff = (n: number): HTMLElement =>
    el(
      "pre",
      { class: "diff", tabindex: "0", role: "group", "aria-label": `Changes of ${p.path}` },
      ...lines.slice(0, n).map(diffLine),
    );
  const body =
    lines.length <= foldedLines
      ? diff(lines.length)
      : folded(
          () => diff(foldedLines),
          () => diff(lines.length),
          `all ${lines.length} lines`,
        );
  return el("div", { class: "preview" }, head, body);
}

/** The lines of a diff without its names; of one that is cut all, as they are. */
function linesOf(diff: string): string[] {
  const hunks = hunksOf(diff);
  if (hunks === undefined) return diff.replace(/\n$/, "").split("\n");
  return hunks.flatMap((h, i) => [...(i > 0 ? ["⋯"] : []), ...h.lines]);
}

function diffLine(line: string): HTMLElement {
  const sort = { "+": "added", "-": "removed", "⋯": "gap", "\\": "gap" }[line.charAt(0)];
  return el("code", { class: sort }, ...shown(line === "" ? " " : line), "\n");
}
