import * as vscode from "vscode";
import { attachment } from "../ask.js";
import type { Agentls } from "../agentls.js";
import { pick, type Row } from "../pick.js";
import type { Mode } from "../protocol.js";
import { back } from "../steps.js";
import { label } from "../text.js";
import type { Attachment } from "./messages.js";

type Chosen = { attachment: Attachment } | { command: string };

/** Asks what is to go with the prompt. A resource or a prompt of an MCP server goes into the input by its own command. */
export async function pickAttachment(a: Agentls): Promise<Attachment | undefined> {
  const rows: Row<Chosen>[] = [];
  const editor = vscode.window.activeTextEditor;
  if (editor !== undefined && ["file", "untitled"].includes(editor.document.uri.scheme)) {
    const { document, about } = await attachment(a, editor);
    if (document.range !== undefined) {
      rows.push({
        label: `$(selection) Selection`,
        description: label(about),
        value: { attachment: { ...document, label: about } },
      });
    }
    const { uri } = document;
    const name = about.replace(/:\d+(-\d+)?$/, "");
    rows.push({ label: `$(file) File`, description: label(name), value: { attachment: { uri, label: name } } });
  }
  rows.push(
    { label: "$(references) MCP resource…", value: { command: "agentls.ui.resources" } },
    { label: "$(symbol-snippet) MCP prompt…", value: { command: "agentls.ui.usePrompt" } },
  );
  const chosen = await pick<Chosen>({ title: "agentls: attach", placeholder: "What is to go with the prompt?", rows });
  if (chosen === undefined || chosen === back) return undefined;
  if ("attachment" in chosen) return chosen.attachment;
  await vscode.commands.executeCommand(chosen.command);
  return undefined;
}

/** Asks how prompts of the chat view are worked on. */
export async function pickMode(now: Mode): Promise<Mode | undefined> {
  const chosen = await pick<Mode>({
    title: "agentls: mode",
    placeholder: "How is the agent to work on what you ask?",
    isActive: (mode) => mode === now,
    rows: [
      { label: "$(comment-discussion) Ask", detail: "Answers, and calls tools on the way.", value: "react" },
      {
        label: "$(list-ordered) Plan",
        detail: "Plans first; you decide about the plan; its steps are worked on.",
        value: "plan",
      },
      { label: "$(organization) Team", detail: "Plans, and a reviewer looks at each step.", value: "team" },
    ],
  });
  return chosen === back ? undefined : chosen;
}
