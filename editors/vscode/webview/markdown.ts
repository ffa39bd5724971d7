import { Lexer, type MarkedToken, type Token, type Tokens } from "marked";

/**
 * Markdown as a tree of elements that hold no markup: HTML stays text, images
 * are named and never loaded, and a link is one only if the extension may open
 * it. What draws it (dom.ts) makes elements of it one by one.
 */
export type Node = string | Element;

export interface Element {
  tag: Tag;
  children: Node[];
  /** Of a link: checked by {@link linkOf}, and again by the extension. */
  href?: string;
  /** Of a code block, as written behind its fence. */
  language?: string;
  /** Of an ordered list. */
  start?: number;
  align?: "left" | "center" | "right";
  /** Of an item that is to be ticked off. */
  checked?: boolean;
  /** Of a character that is not to be seen: its name. */
  title?: string;
}

export type Tag =
  | "p" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "blockquote" | "ul" | "ol" | "li" | "hr"
  | "table" | "tr" | "th" | "td" | "code" | "codeblock" | "strong" | "em" | "del" | "br" | "a" | "mark"; // prettier-ignore

/** How deep blocks may stand in each other; what is deeper stays text. */
const maxDepth = 24;

/** A top-level block. */
export interface Block {
  type: string;
  /** Where it begins in the text; it ends where the next one begins. */
  start: number;
  nodes: Node[];
}

/** The top-level blocks of a text, whose lines end in \n. What would take too long to parse is shown as it is. */
export function blocks(text: string): Block[] {
  const costly = costlyIn(text);
  if (!costly) {
    return parsed(text);
  }
  const behind = blocks(text.slice(costly.end)).map((b) => ({ ...b, start: b.start + costly.end }));
  return [
    ...parsed(text.slice(0, costly.start)),
    asItIs(text.slice(costly.start, costly.end), costly.start),
    ...behind,
  ];
}

function parsed(text: string): Block[] {
  let at = 0;
  try {
    return new Lexer({ gfm: true }).lex(text).map((t) => {
      const start = Math.max(at, text.indexOf(t.raw, at)); // white space behind a list is in no token
      at = start + t.raw.length;
      return { type: t.type, start, nodes: block(t, 0) };
    });
  } catch {
    return [asItIs(text, 0)]; // the parser gives up
  }
}

function asItIs(text: string, start: number): Block {
  return { type: "text", start, nodes: [{ tag: "p", children: lines(text.replace(/\n+$/, "")) }] };
}

/** A text without Markdown, its lines kept. */
export function lines(text: string): Node[] {
  return text.split("\n").flatMap((line, i) => (i === 0 ? plain(line) : [{ tag: "br", children: [] }, ...plain(line)]));
}

/** How many marks of emphasis a paragraph may have: the time to pair them grows with their square. */
const maxMarks = 2000;

// Quotes and lists are parsed by recursion.
const deep = /^(?:[ \t]*(?:>|[-*+]|\d{1,9}[.)])[ \t]*){25}|^[ \t]{200}/;
const fenceLine = /^ {0,3}(`{3,}|~{3,})/;

/** The first paragraph that would take too long to parse. */
function costlyIn(text: string): { start: number; end: number } | undefined {
  let fence: string | undefined;
  let start = 0;
  let marks = 0;
  for (let at = 0; at < text.length;) {
    const newline = text.indexOf("\n", at);
    const end = newline < 0 ? text.length : newline + 1;
    const line = text.slice(at, end);
    const run = fenceLine.exec(line)?.[1];
    if (run !== undefined && (fence === undefined || (run.startsWith(fence) && line.trim() === run))) {
      fence = fence === undefined ? run : undefined;
    }
    if (fence !== undefined || /^\s*(?:$|[#|>]|[-*+] |\d+[.)] )/.test(line)) {
      start = line.trim() === "" ? end : at; // inline text does not go on from the lines before
      marks = 0;
    }
    marks += fence === undefined ? (line.match(/[_*~]/g)?.length ?? 0) : 0;
    if (marks > maxMarks || (fence === undefined && deep.test(line))) {
      const blank = /\n[ \t]*\n/.exec(text.slice(end - 1));
      return { start, end: blank ? end - 1 + blank.index + blank[0].length : text.length };
    }
    at = end;
  }
  return undefined;
}

function block(token: Token, depth: number): Node[] {
  if (depth > maxDepth) {
    return [{ tag: "p", children: lines(token.raw) }];
  }
  const t = token as MarkedToken;
  switch (t.type) {
    case "space":
    case "def":
      return [];
    case "hr":
      return [{ tag: "hr", children: [] }];
    case "heading":
      return [{ tag: `h${Math.min(6, t.depth)}` as Tag, children: inline(t.tokens) }];
    case "code":
      return [{ tag: "codeblock", language: (t.lang ?? "").trim().split(/\s/)[0] ?? "", children: [t.text] }];
    case "blockquote":
      return [{ tag: "blockquote", children: t.tokens.flatMap((x) => block(x, depth + 1)) }];
    case "list":
      return [list(t, depth)];
    case "table":
      return [table(t)];
    case "html":
      return [{ tag: "p", children: lines(t.raw.replace(/\n+$/, "")) }];
    case "paragraph":
      return [{ tag: "p", children: inline(t.tokens) }];
    case "text": // of a tight list's item
      return t.tokens ? inline(t.tokens) : plain(t.text);
    default:
      return inline([t]);
  }
}

function list(t: Tokens.List, depth: number): Element {
  const children = t.items.map((item): Element => {
    const li: Element = {
      tag: "li",
      children: item.tokens.flatMap((x) => (x.type === "checkbox" ? [] : block(x, depth + 1))),
    };
    return item.task ? { ...li, checked: item.checked === true } : li;
  });
  return t.ordered ? { tag: "ol", start: Number(t.start) || 1, children } : { tag: "ul", children };
}

function table(t: Tokens.Table): Element {
  const row = (cells: Tokens.TableCell[], tag: "th" | "td"): Element => ({
    tag: "tr",
    children: cells.map((c): Element => {
      const cell: Element = { tag, children: inline(c.tokens) };
      return c.align ? { ...cell, align: c.align } : cell;
    }),
  });
  return { tag: "table", children: [row(t.header, "th"), ...t.rows.map((r) => row(r, "td"))] };
}

function inline(tokens: readonly Token[]): Node[] {
  return tokens.flatMap((token): Node[] => {
    const t = token as MarkedToken;
    switch (t.type) {
      case "strong":
      case "em":
      case "del":
        return [{ tag: t.type, children: inline(t.tokens) }];
      case "codespan":
        return [{ tag: "code", children: plain(t.text) }];
      case "br":
        return [{ tag: "br", children: [] }];
      case "link":
        return link(t.href, inline(t.tokens));
      case "image":
        return link(t.href, [`🖼 ${t.text || "image"}`]);
      case "text":
        return t.tokens ? inline(t.tokens) : plain(t.text);
      case "escape":
        return plain(t.text);
      default: // html among others
        return plain(t.raw);
    }
  });
}

function link(href: string, children: Node[]): Node[] {
  const to = linkOf(href);
  if (to !== undefined) {
    return [{ tag: "a", href: to, children }];
  }
  const said = textOf(children);
  return said === href ? children : [...children, " (", ...plain(href), ")"];
}

/** What a link leads to, where it may be followed: the web, mail, or a file; else undefined. */
export function linkOf(href: string): string | undefined {
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(href)?.[1]?.toLowerCase();
  if (href === "" || href.startsWith("#") || /^(?:\\|\/[\\/])/.test(href) || hidden.test(href) || href.length > 4096) {
    return undefined;
  }
  return scheme === undefined || ["http", "https", "mailto", "file"].includes(scheme) ? href : undefined;
}

/** What a person reads of a tree. */
export function textOf(nodes: readonly Node[]): string {
  return nodes.map((n) => (typeof n === "string" ? n : n.tag === "br" ? "\n" : textOf(n.children))).join("");
}

// Control characters, those that turn the direction of what follows, and those
// that nobody sees (agent/unseen.go): a text must not read as another one than
// it is. What emoji and scripts are joined and varied with is none of them.
const hidden =
  /(?![\t\n]|\u200c|\u200d|[\ufe00-\ufe0f])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/u;
const hiddenAll = new RegExp(hidden.source, "gu");

/** A text whose invisible characters can be seen. */
export function plain(text: string): Node[] {
  if (!hidden.test(text)) {
    return text === "" ? [] : [text];
  }
  const out: Node[] = [];
  let at = 0;
  for (const m of text.matchAll(hiddenAll)) {
    if (m.index > at) {
      out.push(text.slice(at, m.index));
    }
    const name = "U+" + m[0].codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0");
    out.push({ tag: "mark", title: name, children: [name] });
    at = m.index + m[0].length;
  }
  if (at < text.length) {
    out.push(text.slice(at));
  }
  return out;
}
