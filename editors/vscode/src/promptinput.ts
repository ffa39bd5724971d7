import * as vscode from "vscode";
import type { PromptHistory } from "./prompthistory.js";
import { label } from "./text.js";

/** What a person wrote: to be asked at once, or to be written on in the chat view. */
export interface Written {
  prompt: string;
  where: "ask" | "chat";
}

export interface PromptInputOptions {
  title: string;
  placeholder: string;
  history: PromptHistory;
}

/** What the arrow key does while an input is open: it is contributed for `agentls.asking`. */
let showHistory: (() => void) | undefined;

export function showPromptHistory(): void {
  showHistory?.();
}

/** Asks for a prompt. undefined: it was left; what was written is there again the next time. */
export async function promptInput(options: PromptInputOptions): Promise<Written | undefined> {
  let value = options.history.draft;
  for (;;) {
    const answer = await once(options, value);
    if (answer !== "history") return answer;
    value = (await pickPrompt(options)) ?? options.history.draft;
  }
}

function once(options: PromptInputOptions, value: string): Promise<Written | "history" | undefined> {
  const input = vscode.window.createInputBox();
  const chat: vscode.QuickInputButton = {
    iconPath: new vscode.ThemeIcon("comment-discussion"),
    tooltip: "Write on in the Chat View",
  };
  const history: vscode.QuickInputButton = {
    iconPath: new vscode.ThemeIcon("history"),
    tooltip: "Earlier Prompts (↑)",
  };
  input.title = options.title;
  input.placeholder = options.placeholder;
  input.prompt = "Enter asks, ↑ shows earlier prompts.";
  input.buttons = [history, chat];
  input.value = value;
  input.valueSelection = [0, value.length];
  input.ignoreFocusOut = true;
  return new Promise((resolve) => {
    let ended = false;
    const end = (answer: Written | "history" | undefined) => {
      if (ended) return; // to dispose of it hides it
      ended = true;
      options.history.draft = answer === undefined || answer === "history" ? input.value : "";
      showHistory = undefined;
      void vscode.commands.executeCommand("setContext", "agentls.asking", false);
      resolve(answer);
      input.dispose();
    };
    showHistory = () => end("history");
    input.onDidChangeValue(() => (input.validationMessage = undefined));
    input.onDidAccept(() => {
      if (input.value.trim() !== "") end({ prompt: input.value, where: "ask" });
      else input.validationMessage = "Write what the agent is to do, or press Escape.";
    });
    input.onDidTriggerButton((button) => end(button === chat ? { prompt: input.value, where: "chat" } : "history"));
    input.onDidHide(() => end(undefined));
    void vscode.commands.executeCommand("setContext", "agentls.asking", true);
    input.show();
  });
}

/** An earlier prompt, to be changed before it is asked. undefined: none was taken. */
async function pickPrompt({ title, history }: PromptInputOptions): Promise<string | undefined> {
  const items = history.list().map((prompt) => ({ label: label(prompt, 120), prompt }));
  if (items.length === 0) {
    const nothing = [{ label: "Nothing was asked here yet.", prompt: undefined }];
    return (await vscode.window.showQuickPick(nothing, { title }))?.prompt;
  }
  const picked = await vscode.window.showQuickPick(items, {
    title: `${title}: Earlier Prompts`,
    placeHolder: "Pick one to write on",
  });
  return picked?.prompt;
}
