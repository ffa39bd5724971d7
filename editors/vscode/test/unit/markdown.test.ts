import assert from "node:assert/strict";
import test from "node:test";
import { Growing } from "../../webview/growing.js";
import { blocks, linkOf, plain, textOf, type Element, type Node } from "../../webview/markdown.js";

const nodes = (text: string): Node[] => blocks(text).flatMap((b) => b.nodes);

function all(tree: readonly Node[]): Element[] {
  return tree.flatMap((n) => (typeof n === "string" ? [] : [n, ...all(n.children)]));
}

test("what is written stands in its elements", () => {
  const tree = nodes(
    "# A *b*\n\n1. x\n2. y\n   - z\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n\n> q\n\n```ts x\nlet a;\n```\n- [x] done",
  );
  assert.deepEqual(
    tree.map((n) => (typeof n === "string" ? n : n.tag)),
    ["h1", "ol", "table", "blockquote", "codeblock", "ul"],
  );
  const code = all(tree).find((e) => e.tag === "codeblock");
  assert.deepEqual([code?.language, code?.children], ["ts", ["let a;"]]);
  assert.equal(all(tree).find((e) => e.checked)?.tag, "li");
  assert.equal(all(tree).filter((e) => e.align === "right").length, 2);
});

// Each of these would be an element, a request or a command in a renderer that believes them.
const hostile: Record<string, string> = {
  "an image's handler": '<img src=x onerror="alert(1)">',
  "a script": "<script>alert(1)</script>",
  "a script in a block": "<div>\n<script>\nalert(1)\n</script>\n</div>",
  "a frame in a list": "- <iframe src=//x.example></iframe>",
  "a style": "<style>*{display:none}</style>",
  "a comment": "<!-- x --><b onclick=x>b</b>",
};
for (const [name, text] of Object.entries(hostile)) {
  test(`HTML stays text: ${name}`, () => {
    const tree = nodes(text);
    assert.deepEqual(
      all(tree).filter((e) => !["p", "br", "ul", "li"].includes(e.tag)),
      [],
    );
    assert.equal(textOf(tree).replace(/\s/g, ""), text.replace(/^- /, "").replace(/\s/g, ""));
  });
}

test("an image is named and not loaded", () => {
  const tree = nodes("![a cat](https://x.example/cat.png) ![](data:image/png;base64,AAAA)");
  assert.deepEqual(
    all(tree).map((e) => [e.tag, e.href]),
    [
      ["p", undefined],
      ["a", "https://x.example/cat.png"],
    ],
  );
  assert.match(textOf(tree), /a cat.*data:image/);
});

for (const href of [
  "command:workbench.action.quit", "COMMAND:x", "javascript:alert(1)", "JaVaScRiPt:alert(1)", "data:text/html,x", "vscode://x",
  "vbscript:x", "blob:x", "//evil.example/x", "\\\\evil\\share", "#top", "", "java\u0000script:x", "https://x.example/\u202egnp.exe",
  "ftp://x", "agentls-input:/x", "vscode-file://x/y",
] /* prettier-ignore */) {
  test(`no link: ${JSON.stringify(href)}`, () => {
    assert.equal(linkOf(href), undefined);
    assert.deepEqual(
      all(nodes(`[text](<${href}>)`)).filter((e) => e.tag === "a"),
      [],
    );
  });
}

for (const href of [
  "https://x.example/a?b#c",
  "http://127.0.0.1:1/",
  "mailto:a@b.example",
  "file:///x/y.go",
  "src/a.go#L10",
  "a.md",
]) {
  test(`a link: ${href}`, () => {
    assert.deepEqual(
      all(nodes(`[text](${href})`)).map((e) => e.href),
      [undefined, href],
    );
  });
}

test("where a link is none, what it would lead to is said", () => {
  assert.equal(textOf(nodes("[click](command:x)")), "click (command:x)");
});

test("a character that nobody sees is shown by its name", () => {
  const marks = all(nodes("a\u202eb `c\u2066d` \u200b")).filter((e) => e.tag === "mark");
  assert.deepEqual(
    marks.map((e) => e.title),
    ["U+202E", "U+2066", "U+200B"],
  );
  // Text in tags, which a model reads; a soft hyphen, fillers, a line separator, an empty braille cell.
  assert.equal(
    textOf(plain("a\u{e0041}\u{e007f}b\u00ad\u3164\u2028\u2800")),
    "aU+E0041U+E007FbU+00ADU+3164U+2028U+2800",
  );
  assert.equal(linkOf("https://a.example/\u00ad"), undefined);
  const joined = "\u{1f468}\u200d\u{1f469} \u2764\ufe0f a\tb\n";
  assert.deepEqual(plain(joined), [joined]);
});

test("what is nested without end is shown as it is, and soon", () => {
  for (const text of [
    ">".repeat(20_000) + " x",
    "- ".repeat(20_000) + "x",
    "*a ".repeat(20_000),
    "[".repeat(50_000),
    "_a_b".repeat(20_000),
    "_a_b\n".repeat(20_000),
    "**a*".repeat(10_000),
    "![".repeat(20_000),
  ]) {
    const begun = performance.now();
    assert.equal(textOf(nodes(text)).length > 0, true);
    // Far more than it takes: parsed as they are, these take minutes.
    assert.ok(performance.now() - begun < 10_000, `${text.slice(0, 4)} took ${performance.now() - begun} ms`);
  }
});

/** What is drawn of a text that comes in parts: what was settled, and the open end. */
function grown(parts: readonly string[]): Node[] {
  const growing = new Growing();
  let open: Node[] = [];
  const settled: Node[] = [];
  for (const part of parts) {
    const g = growing.append(part);
    settled.push(...g.settled);
    open = g.open;
  }
  return [...settled, ...open];
}

const sample = `Intro *with* words,
two lines.

# Head
- a
- b

  more of b
- c

\`\`\`go
func main() {

	x := "\`\`"
}
\`\`\`

    indented

| a | b |
|---|---|
| 1 | 2 |

Setext
===
~~~
\`\`\`
nested
\`\`\`
~~~
\`\`\`\`md
\`\`\`js
inner
\`\`\`
\`\`\`\`
> quote
lazy

1. one
2. two

end`;

test("only the paragraph that would take too long is shown as it is", () => {
  const tree = nodes(`*a*\n\n${"_a_b".repeat(20_000)}\n\n*b*`);
  assert.deepEqual(
    all(tree).map((e) => e.tag),
    ["p", "em", "p", "p", "em"],
  );
  const code = `\`\`\`\n${"_a_b".repeat(20_000)}\n\`\`\`\n`;
  assert.deepEqual(
    all(nodes(code)).map((e) => e.tag),
    ["codeblock"],
  );
});

test("a text that comes in parts is drawn as the whole is", () => {
  const whole = nodes(sample);
  for (const size of [1, 2, 3, 7, 50, 1000]) {
    const parts = sample.match(new RegExp(`[^]{1,${size}}`, "g")) ?? [];
    assert.deepEqual(grown(parts), whole, `parts of ${size}`);
  }
  let seed = 7;
  for (let i = 0; i < 200; i++) {
    const parts: string[] = [];
    for (let at = 0; at < sample.length;) {
      seed = (seed * 1103515245 + 12345) & 0x7fffffff;
      const n = 1 + (seed % 40);
      parts.push(sample.slice(at, at + n));
      at += n;
    }
    assert.deepEqual(grown(parts), whole, JSON.stringify(parts));
  }
});

test("lines end as they may", () => {
  assert.deepEqual(grown(["a\r", "\n\r\nb"]), nodes("a\n\nb"));
});

test("the fence that is being closed is not drawn as code", () => {
  const code = grown(["```sh\n", "ls\n", "``"])[0];
  assert.deepEqual(typeof code === "object" ? code.children : code, ["ls"]);
});

test("what an append costs does not grow with the text", () => {
  for (const [first, line] of [
    ["", "word ".repeat(20) + "\n\n"],
    ["", "word ".repeat(20) + "\n"],
    ["", "- item\n"],
    ["", "x".repeat(100)],
    ["| a | b |\n|---|---|\n", "| a | b |\n"],
    ["```\n", "a line of code\n"],
  ] as const) {
    const growing = new Growing();
    const part = line.repeat(Math.ceil(1000 / line.length));
    let appends = 1;
    let drawn = textOf(growing.append(first).settled);
    let open: Node[] = [];
    for (let n = 0; n < 60_000; n += part.length, appends++) {
      const grown = growing.append(part);
      drawn += textOf(grown.settled);
      open = grown.open;
    }
    assert.ok(
      growing.parsed <= appends * 20_000,
      `${JSON.stringify(line.slice(0, 10))}: ${growing.parsed} parsed in ${appends}`,
    );
    const words = (text: string): number => text.match(/word|item|x|a line|[ab](?=[ab\n]|$)/g)?.length ?? 0;
    assert.ok(words(drawn + textOf(open)) >= words(part.repeat(appends - 1).replaceAll(/[|]/g, "")), "nothing is lost");
  }
});
