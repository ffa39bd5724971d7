import { basename } from "node:path";
import * as vscode from "vscode";
import { attachment } from "./ask.js";
import type { Agentls } from "./agentls.js";
import { offer, registerCommands } from "./commands.js";
import { follow } from "./promptview.js";
import type { RunResult, SendArgument } from "./protocol.js";
import { startRun } from "./run.js";
import { plain } from "./text.js";

/** Sends a prompt of a buffer; the server writes the answer into it. */
export async function send(a: Agentls, argument: SendArgument): Promise<RunResult | undefined> {
  const uri = vscode.Uri.parse(argument.uri);
  const answer = a.answering.begin(uri);
  const document = vscode.workspace.textDocuments.find((open) => open.uri.toString() === uri.toString());
  const view = document === undefined ? undefined : follow(document);
  try {
    const toast = `agentls: answers in ${plain(basename(uri.path), 80)}`;
    return await startRun(a, "agentls.send", { stream: true, ...argument }, { toast, signal: answer.token });
  } finally {
    view?.dispose();
    answer.dispose();
  }
}

/** Sends the prompt at the cursor: of the buffer in whose title the button is, or of the active one. */
async function sendHere(a: Agentls, uri: unknown): Promise<void> {
  const active = vscode.window.activeTextEditor;
  const editors = [...(active === undefined ? [] : [active]), ...vscode.window.visibleTextEditors];
  const editor = uri instanceof vscode.Uri ? editors.find((e) => e.document.uri.toString() === uri.toString()) : active;
  if (editor?.document.languageId !== "agentls") {
    void offer("information", "Only a prompt can be sent. Open one, or a file whose name ends in .agentls.md.", {
      "New Prompt": () => vscode.commands.executeCommand("agentls.ui.newPrompt"),
    });
    return;
  }
  const { code2ProtocolConverter: convert } = await a.server.ready();
  const argument = {
    uri: convert.asUri(editor.document.uri),
    position: convert.asPosition(editor.selection.active),
  };
  await send(a, argument);
}

/** Makes a prompt buffer; what is selected is quoted in it. The server shows it. */
async function newPrompt(a: Agentls): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  const quotes =
    editor !== undefined &&
    ["file", "untitled"].includes(editor.document.uri.scheme) &&
    editor.document.languageId !== "agentls" &&
    editor.selections.some((selection) => !selection.isEmpty);
  await a.server.command("agentls.new", quotes ? { document: (await attachment(a, editor)).document } : {});
}

/** Puts a mention at the cursor of the active prompt buffer, else into the input of the chat view. */
export async function insertMention(a: Agentls, text: string): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  if (editor?.document.languageId !== "agentls") {
    await a.panel.insert(text);
    return;
  }
  await editor.edit((edit) => {
    for (const selection of editor.selections) {
      const line = editor.document.lineAt(selection.start.line).text;
      const parted = /(^|\s)$/u.test(line.slice(0, selection.start.character));
      edit.replace(selection, parted ? text : ` ${text}`);
    }
  });
  for (const { end } of editor.selections) editor.revealRange(new vscode.Range(end, end));
}

export function register(a: Agentls): void {
  a.own(
    vscode.workspace.onDidRenameFiles(({ files }) => {
      for (const { oldUri, newUri } of files) a.answering.rename(oldUri, newUri);
    }),
  );
  registerCommands(a, [
    { id: "agentls.ui.newPrompt", needs: ["server"], run: () => newPrompt(a) },
    { id: "agentls.ui.send", needs: ["server"], run: (_a, uri) => sendHere(a, uri) },
  ]);
}
