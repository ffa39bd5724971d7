import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import * as vscode from "vscode";
import type { Agentls } from "../../src/agentls.js";
import { insertMention } from "../../src/promptbuffer.js";
import { extensionFolder, World } from "../driver/world.js";
import { extension, until } from "./here.js";

// What is used of vscode-textmate and vscode-oniguruma.
interface Grammar {
  tokenizeLine(
    line: string,
    state: unknown,
  ): { ruleStack: unknown; tokens: { startIndex: number; endIndex: number; scopes: string[] }[] };
}
interface Textmate {
  INITIAL: unknown;
  Registry: new (options: object) => { loadGrammar(scope: string): Promise<Grammar | null> };
  parseRawGrammar(text: string, file: string): unknown;
}
interface Oniguruma {
  loadWASM(wasm: ArrayBuffer): Promise<void>;
  OnigScanner: new (patterns: string[]) => unknown;
  OnigString: new (text: string) => unknown;
}

/** What VS Code itself reads grammars with; from its own folder, as its Markdown is. */
async function tokens(text: string): Promise<{ text: string; scopes: string[] }[]> {
  const inVSCode = (...path: string[]) => join(vscode.env.appRoot, ...path);
  const load = createRequire(inVSCode("node_modules", "vscode-textmate", "package.json"));
  const textmate = load("vscode-textmate") as Textmate;
  const oniguruma = load("vscode-oniguruma") as Oniguruma;
  const wasm = readFileSync(inVSCode("node_modules", "vscode-oniguruma", "release", "onig.wasm"));
  await oniguruma.loadWASM(new Uint8Array(wasm).buffer);
  const files: Record<string, string> = {
    "text.html.markdown": inVSCode("extensions", "markdown-basics", "syntaxes", "markdown.tmLanguage.json"),
    "text.html.markdown.agentls": join(extensionFolder, "syntaxes", "agentls.tmLanguage.json"),
  };
  const registry = new textmate.Registry({
    onigLib: Promise.resolve({
      createOnigScanner: (patterns: string[]) => new oniguruma.OnigScanner(patterns),
      createOnigString: (string: string) => new oniguruma.OnigString(string),
    }),
    loadGrammar: (scope: string) => {
      const file = files[scope];
      return Promise.resolve(file === undefined ? null : textmate.parseRawGrammar(readFileSync(file, "utf8"), file));
    },
  });
  const grammar = await registry.loadGrammar("text.html.markdown.agentls");
  assert.ok(grammar);
  let state = textmate.INITIAL;
  return text.split("\n").flatMap((line) => {
    const read = grammar.tokenizeLine(line, state);
    state = read.ruleStack;
    return read.tokens.map(({ startIndex, endIndex, scopes }) => ({ text: line.slice(startIndex, endIndex), scopes }));
  });
}

describe("prompt buffers", () => {
  const world = World.here();
  let a: Agentls;

  const open = async (name: string, text: string) => {
    world.write(name, text);
    const document = await vscode.workspace.openTextDocument(vscode.Uri.file(`${world.project}/${name}`));
    return await vscode.window.showTextDocument(document);
  };
  const sent = (command: string) =>
    world.sent("editor", "workspace/executeCommand").filter(({ params }) => params.command === command);
  const end = ({ document, selection }: vscode.TextEditor) => {
    const { end } = document.lineAt(document.lineCount - 1).range;
    return selection.active.isEqual(end);
  };

  before(async () => {
    a = await extension();
    await until("the server", () => a.server.state === "ready");
  });

  it("are known by their name", async () => {
    const { document } = await open("a.agentls.md", "## You\n\n");
    assert.equal(document.languageId, "agentls");
    assert.equal(vscode.workspace.getConfiguration("editor", document).get("wordWrap"), "on");
  });

  it("have turns, commands and mentions; none in quotes, fences and answers", async () => {
    const read = await tokens(
      [
        ...["## You", "", "/plan see @test:test://one, and", '(@s:<urn:two words>) "not @s:urn:three" me@s:urn:four'],
        ...["/usr/bin", "```", "@s:urn:five", "## Agent", "```", "## Agent", "@s:urn:six", "## You", "- @s:urn:seven"],
      ].join("\n"),
    );
    const scoped = (scope: string) => read.filter(({ scopes }) => scopes.includes(scope)).map(({ text }) => text);
    assert.deepEqual(scoped("string.other.link.mention.agentls"), ["test://one", "urn:two words", "urn:seven"]);
    assert.deepEqual(scoped("entity.name.function.command.agentls"), ["plan"]);
    assert.equal(scoped("markup.heading.prompt.agentls").join(""), "## You## You");
    assert.equal(scoped("markup.heading.answer.agentls").join(""), "## Agent");
  });

  it("are sent from the command, and the cursor is in the next turn", async () => {
    const editor = await open("send.agentls.md", "## You\n\nSAY sent");
    editor.selection = new vscode.Selection(2, 8, 2, 8);
    await vscode.commands.executeCommand("agentls.ui.send");
    await until("the answer", () => editor.document.getText() === "## You\n\nSAY sent\n\n## Agent\n\nsent\n\n## You\n");
    await until("the cursor", () => end(editor));
    assert.equal(sent("agentls.send").at(-1)?.params.arguments[0].stream, true);
  });

  it("are cancelled by their title's button alone, with others running", async () => {
    const editor = await open("slow.agentls.md", "## You\n\nSLOW");
    editor.selection = new vscode.Selection(2, 4, 2, 4);
    const sending = vscode.commands.executeCommand("agentls.ui.send");
    await until("words", () => editor.document.getText().includes("word3"));
    await vscode.commands.executeCommand("agentls.ui.cancel", editor.document.uri);
    await sending;
    assert.equal(a.answering.cancel(editor.document.uri), false);
    await until("the end", () => editor.document.getText().includes("*(cancelled)*"));
  });

  it("formatters and whitespace settings take nothing of an answer away", async () => {
    const trims = vscode.languages.registerDocumentFormattingEditProvider("agentls", {
      provideDocumentFormattingEdits: (document) =>
        [...Array(document.lineCount).keys()].flatMap((n) => {
          const { text } = document.lineAt(n);
          const kept = text.trimEnd().length;
          return kept < text.length ? [vscode.TextEdit.delete(new vscode.Range(n, kept, n, text.length))] : [];
        }),
    });
    const editor = await open("format.agentls.md", "## You\n\nSLOW");
    editor.selection = new vscode.Selection(2, 4, 2, 4);
    const sending = vscode.commands.executeCommand("agentls.ui.send");
    for (const n of [12, 22, 32]) {
      await until(`word ${n}`, () => editor.document.getText().includes(`word${n} `));
      await vscode.commands.executeCommand("editor.action.formatDocument");
      await editor.document.save();
    }
    await vscode.commands.executeCommand("agentls.ui.cancel", editor.document.uri);
    await sending;
    await until("the end", () => editor.document.getText().includes("*(cancelled)*"));
    trims.dispose();
    const [, answer] = /## Agent\n\n([^*]*)/.exec(editor.document.getText()) ?? [];
    const words = answer?.trim().split(/\s+/) ?? [];
    assert.deepEqual(
      words,
      words.map((_, n) => `word${n + 1}`),
    );
  });

  it("are made by New Prompt, with what is selected", async () => {
    const editor = await open("quoted.txt", "first\nsecond\n");
    editor.selection = new vscode.Selection(0, 0, 1, 6);
    await vscode.commands.executeCommand("agentls.ui.newPrompt");
    await until("the prompt", () => vscode.window.activeTextEditor?.document.languageId === "agentls");
    assert.match(vscode.window.activeTextEditor?.document.getText() ?? "", /lines 1-2:\n\n```\w*\nfirst\nsecond\n```/);
  });

  it("take a mention at the cursor, parted from what stands before it", async () => {
    const editor = await open("mention.agentls.md", "see");
    editor.selection = new vscode.Selection(0, 3, 0, 3);
    await insertMention(a, "@test:test://docs/world.md");
    assert.equal(editor.document.getText(), "see @test:test://docs/world.md");
  });
});
