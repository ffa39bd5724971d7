import * as vscode from "vscode";
import type { Agentls } from "./agentls.js";
import { ask, fileEditor } from "./ask.js";
import { offer, registerCommands } from "./commands.js";
import type { AskArgument } from "./protocol.js";
import { label } from "./text.js";

/** A code action of the server that asks the model. */
interface AskAction {
  title: string;
  command?: { command: string; arguments?: [AskArgument] };
}

/**
 * Fixes the problem at the cursor, or one of several that the person picks. What is fixed, and what goes along, the
 * server's own code actions say.
 */
async function fixProblem(a: Agentls): Promise<void> {
  const editor = fileEditor("Open the file that has the problem.");
  if (editor === undefined) return;
  if (editor.document.languageId === "agentls") {
    await vscode.commands.executeCommand("editor.action.quickFix");
    return;
  }
  const { document, selection } = editor;
  const here = new vscode.Range(selection.start.line, 0, selection.end.line, Number.MAX_SAFE_INTEGER);
  const at = selection.isEmpty ? document.validateRange(here) : selection;
  const problems = vscode.languages.getDiagnostics(document.uri);
  let chosen = problems.filter((problem) => problem.range.intersection(at) !== undefined);
  let range: vscode.Range = selection;
  if (chosen.length === 0 && selection.isEmpty) {
    const problem = await pickProblem(document, problems);
    if (problem === undefined) return;
    chosen = [problem];
    range = problem.range;
    editor.selection = new vscode.Selection(range.start, range.start);
    editor.revealRange(range, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
  }
  const actions = await fixes(a, document, range, chosen);
  if (actions.length === 0) {
    void offer("information", "The problem says nothing that could be fixed. Select the text to ask about it.", {});
  }
  const action = await pickAction(actions);
  const argument = action?.command?.arguments?.[0];
  if (action !== undefined && argument !== undefined) await ask(a, argument, action.title);
}

async function fixes(
  a: Agentls,
  document: vscode.TextDocument,
  range: vscode.Range,
  diagnostics: vscode.Diagnostic[],
): Promise<AskAction[]> {
  const { code2ProtocolConverter: convert } = await a.server.ready();
  const actions = await a.server.request<AskAction[] | null>("textDocument/codeAction", {
    textDocument: convert.asTextDocumentIdentifier(document),
    range: convert.asRange(range),
    context: { diagnostics: await convert.asDiagnostics(diagnostics), only: ["quickfix"], triggerKind: 1 },
  });
  return (actions ?? []).filter(
    ({ command }) => command?.command === "agentls.ask" && command.arguments?.[0].action === "fix",
  );
}

async function pickAction(actions: AskAction[]): Promise<AskAction | undefined> {
  if (actions.length < 2) return actions[0];
  const items = actions.map((action) => ({ label: label(action.title), action }));
  return (await vscode.window.showQuickPick(items, { title: "Fix This Problem", placeHolder: "Which one?" }))?.action;
}

const icons: Record<vscode.DiagnosticSeverity, string> = {
  [vscode.DiagnosticSeverity.Error]: "error",
  [vscode.DiagnosticSeverity.Warning]: "warning",
  [vscode.DiagnosticSeverity.Information]: "info",
  [vscode.DiagnosticSeverity.Hint]: "lightbulb",
};

/** One of a document's problems, by line. */
async function pickProblem(
  document: vscode.TextDocument,
  problems: readonly vscode.Diagnostic[],
): Promise<vscode.Diagnostic | undefined> {
  if (problems.length === 0) {
    void offer("information", "No problem is known in this file. Select the text to ask about it.", {
      "Ask About Selection": () => vscode.commands.executeCommand("agentls.ui.askSelection"),
    });
    return undefined;
  }
  const items = problems
    .toSorted((a, b) => a.range.start.compareTo(b.range.start))
    .map((problem) => ({
      label: label(problem.message, 120),
      description: label(
        `Line ${problem.range.start.line + 1}:${problem.range.start.character + 1}${problem.source === undefined ? "" : ` · ${problem.source}`}`,
      ),
      detail: label(document.lineAt(Math.min(problem.range.start.line, document.lineCount - 1)).text, 120),
      iconPath: new vscode.ThemeIcon(icons[problem.severity]),
      problem,
    }));
  const picked = await vscode.window.showQuickPick(items, {
    title: "Fix This Problem",
    placeHolder: "None is at the cursor. Which one?",
    matchOnDescription: true,
    matchOnDetail: true,
  });
  return picked?.problem;
}

export function register(a: Agentls): void {
  registerCommands(a, [{ id: "agentls.ui.fix", needs: ["server"], run: () => fixProblem(a) }]);
}
