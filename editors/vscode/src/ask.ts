import { randomUUID } from "node:crypto";
import { basename } from "node:path";
import * as vscode from "vscode";
import type { Agentls } from "./agentls.js";
import { offer, registerCommands } from "./commands.js";
import { PromptHistory } from "./prompthistory.js";
import { promptInput, showPromptHistory } from "./promptinput.js";
import type { Action, AskArgument, DocumentArgument, Mode, RunResult } from "./protocol.js";
import { startRun } from "./run.js";

/** Asks with a notification that can cancel, and with the chat view, which shows the answer. */
export async function ask(a: Agentls, argument: AskArgument, title?: string): Promise<RunResult | undefined> {
  const { action, document, prompt, session = randomUUID() } = argument;
  const words = title ?? (action === undefined ? (prompt ?? "") : actionTitle(action, document));
  return await startRun(a, "agentls.ask", { ...argument, session }, { toast: `agentls: ${words}`, prompt: words });
}

const actionWords: Record<Action, string> = {
  document: "Document",
  explain: "Explain",
  fix: "Fix",
  rewrite: "Rewrite",
  test: "Write tests for",
};

function actionTitle(action: Action, document: DocumentArgument | undefined): string {
  if (document === undefined) return actionWords[action];
  const { range } = document;
  const lines = range === undefined ? "" : `:${range.start.line + 1}`;
  return `${actionWords[action]} ${basename(vscode.Uri.parse(document.uri).path)}${lines}`;
}

interface AskOptions {
  title: string;
  placeholder: string;
  mode?: Mode;
  /** What goes along, and its name. */
  document?: DocumentArgument;
  about?: string;
}

async function askFor(a: Agentls, history: PromptHistory, options: AskOptions): Promise<void> {
  const { title, placeholder, mode, document, about = "" } = options;
  const written = await promptInput({ title, placeholder, history });
  if (written === undefined) return;
  const { prompt } = written;
  const how = mode === undefined ? {} : { mode };
  if (written.where === "chat") {
    const attachment = document === undefined ? {} : { attachment: { ...document, label: about } };
    await a.panel.show({ prompt, ...how, ...attachment, focus: true });
    return;
  }
  await history.add(prompt);
  await ask(a, { prompt, ...how, ...(document === undefined ? {} : { document }) });
}

async function askSelection(a: Agentls, history: PromptHistory): Promise<void> {
  const editor = fileEditor("Open the file in an editor and select what you want to ask about.");
  if (editor === undefined) return;
  const { document, about } = await attachment(a, editor);
  await askFor(a, history, {
    title: `Ask About ${about}`,
    placeholder: "What do you want to know about it?",
    document,
    about,
  });
}

/** The schemes of documents that the server sees. */
const schemes = ["file", "untitled"];

/** The active editor, if the server sees its document; else the person is told what to do. */
export function fileEditor(instead: string): vscode.TextEditor | undefined {
  const editor = vscode.window.activeTextEditor;
  if (editor !== undefined && schemes.includes(editor.document.uri.scheme)) return editor;
  const why = editor === undefined ? "No text editor is active." : "This is no file.";
  void offer("information", `${why} ${instead}`, {});
  return undefined;
}

/** What is selected, from the first selection to the end of the last one; without one the whole document. */
export async function attachment(
  a: Agentls,
  { document, selections }: vscode.TextEditor,
): Promise<{ document: DocumentArgument; about: string }> {
  const { code2ProtocolConverter: convert } = await a.server.ready();
  const uri = convert.asUri(document.uri);
  const name = basename(document.uri.path);
  const selected = selections.filter((selection) => !selection.isEmpty);
  const [first, ...others] = selected;
  if (first === undefined) return { document: { uri }, about: name };
  const all = others.reduce<vscode.Range>((whole, one) => whole.union(one), first);
  const lines = all.isSingleLine ? `${all.start.line + 1}` : `${all.start.line + 1}-${all.end.line + 1}`;
  return {
    document: { uri, range: convert.asRange(new vscode.Range(all.start, all.end)), version: document.version },
    about: `${name}:${lines}`,
  };
}

export function register(a: Agentls): void {
  const history = new PromptHistory(a.context.workspaceState);
  const asks = (title: string, placeholder: string, mode?: Mode) => ({
    needs: ["server"] as const,
    run: () => askFor(a, history, { title, placeholder, ...(mode === undefined ? {} : { mode }) }),
  });
  registerCommands(a, [
    { id: "agentls.ui.ask", ...asks("Ask", "What is the agent to do?") },
    { id: "agentls.ui.ask.history", run: showPromptHistory },
    { id: "agentls.ui.askSelection", needs: ["server"], run: () => askSelection(a, history) },
    { id: "agentls.ui.plan", ...asks("Plan", "What is the agent to plan? You decide about the plan.", "plan") },
    { id: "agentls.ui.team", ...asks("Ask the Team", "What is the team to plan, do and review?", "team") },
  ]);
}
