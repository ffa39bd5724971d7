import { blocks, type Block, type Element, type Node } from "./markdown.js";

/** The most that is parsed again at each append, in UTF-16 units. */
const maxOpen = 16 * 1024;

/** A long text is taken in pieces, so that no list or table is longer than what is parsed at once. */
const piece = 8 * 1024;

interface Fence {
  /** Its run of ` or ~. */
  mark: string;
  indent: number;
  language: string;
  /** Whole lines. */
  body: string;
}

/**
 * A Markdown text that grows at its end. Only its last block can still become
 * another one, so only that is parsed again; a fenced block just takes lines.
 */
export class Growing {
  /** What is not settled: the text from the last block on; of a fence, its last line. */
  #tail = "";
  #fence: Fence | undefined;
  /** How much was parsed so far, in UTF-16 units: what appends cost. */
  parsed = 0;

  /** Gives what stays as it is from now on, and what stands behind it for now. */
  append(text: string): { settled: Node[]; open: Node[] } {
    const grown: { settled: Node[]; open: Node[] } = { settled: [], open: [] };
    for (let at = 0; at === 0 || at < text.length;) {
      const newline = text.indexOf("\n", at + piece);
      const end = newline < 0 ? text.length : newline + 1;
      const { settled, open } = this.#append(text.slice(at, end));
      grown.settled.push(...settled);
      grown.open = open;
      at = Math.max(1, end);
    }
    return grown;
  }

  #append(delta: string): { settled: Node[]; open: Node[] } {
    this.#tail = (this.#tail + delta).replaceAll("\r\n", "\n");
    const settled: Node[] = [];
    for (;;) {
      if (this.#fence) {
        const done = this.#takeLines(this.#fence);
        if (!done) {
          return { settled, open: [codeblock(this.#fence, this.#tail)] };
        }
        settled.push(codeblock(this.#fence, ""));
        this.#fence = undefined;
      }
      this.parsed += this.#tail.length;
      const all = blocks(this.#tail);
      const last = all.findLastIndex((b) => b.nodes.length > 0);
      const end = all[last];
      if (!end) {
        return { settled, open: [] };
      }
      settled.push(...nodesOf(all.slice(0, last)));
      this.#tail = this.#tail.slice(end.start);
      this.#fence = end.type === "code" ? openFence(this.#tail) : undefined;
      if (this.#fence) {
        this.#tail = this.#tail.slice(this.#tail.indexOf("\n") + 1);
        continue;
      }
      if (this.#tail.length > maxOpen) {
        settled.push(...this.#cut(end.type === "table"));
        continue;
      }
      return { settled, open: end.nodes };
    }
  }

  /** Settles the last block up to where it can be parted; a table goes on with its head. */
  #cut(isTable: boolean): Node[] {
    const text = this.#tail;
    const at = [text.lastIndexOf("\n"), text.lastIndexOf(" "), text.length].find((i) => i > maxOpen / 2) ?? text.length;
    const head = isTable ? text.split("\n", 2).join("\n") + "\n" : "";
    this.#tail = head + text.slice(at).replace(/^\n/, "");
    return nodesOf(blocks(text.slice(0, at)));
  }

  /** Moves whole lines into the fence; true: it is closed. */
  #takeLines(fence: Fence): boolean {
    let at = 0;
    const closing = new RegExp(`^ {0,3}${fence.mark[0] ?? ""}{${String(fence.mark.length)},}[ \\t]*$`);
    for (let end = this.#tail.indexOf("\n"); end >= 0; end = this.#tail.indexOf("\n", at)) {
      const line = this.#tail.slice(at, end);
      at = end + 1;
      if (closing.test(line)) {
        this.#tail = this.#tail.slice(at);
        return true;
      }
      fence.body += undented(line, fence.indent) + "\n";
    }
    this.#tail = this.#tail.slice(at);
    return false;
  }
}

function nodesOf(list: readonly Block[]): Node[] {
  return list.flatMap((b) => b.nodes);
}

/** The fence that a block begins with, once its first line is whole. */
function openFence(raw: string): Fence | undefined {
  const m = /^( {0,3})(`{3,}|~{3,})[ \t]*(\S*)[^\n]*\n/.exec(raw);
  return m ? { indent: m[1]?.length ?? 0, mark: m[2] ?? "", language: m[3] ?? "", body: "" } : undefined;
}

function codeblock(fence: Fence, partial: string): Element {
  const isEnd = partial !== "" && partial.trim() !== "" && fence.mark.startsWith(partial.trim());
  const text = fence.body + (isEnd ? "" : undented(partial, fence.indent));
  return { tag: "codeblock", language: fence.language, children: [text.replace(/\n$/, "")] };
}

function undented(line: string, n: number): string {
  return n === 0 ? line : line.replace(new RegExp(`^ {0,${String(n)}}`), "");
}
