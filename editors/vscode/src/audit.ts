import * as vscode from "vscode";
import type { Agentls } from "./agentls.js";
import { auditLimit, auditTable, toolOf, type AuditFilter, type AuditMark } from "./audittext.js";
import { registerCommands } from "./commands.js";
import { heading, pick } from "./pick.js";
import type { AuditLine } from "./protocol.js";
import { back } from "./steps.js";
import { label } from "./text.js";
import { localDate, localTime, plural } from "./when.js";

const scheme = "agentls-audit";
const uri = vscode.Uri.from({ scheme, path: "/agentls audit log" });

/** The audit log in a document that nobody can write. */
class AuditView implements vscode.TextDocumentContentProvider, vscode.CodeLensProvider {
  readonly #changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.#changed.event;
  #filter: AuditFilter = {};
  #marks: AuditMark[] = [];
  #decorations: Map<string, vscode.TextEditorDecorationType> | undefined;

  constructor(readonly agentls: Agentls) {}

  async provideTextDocumentContent(): Promise<string> {
    const lines = await this.#lines(this.#filter);
    const table = auditTable(lines, this.#filter);
    this.#marks = table.marks;
    return table.text;
  }

  provideCodeLenses(): vscode.CodeLens[] {
    const lens = (label: string, command: string) =>
      new vscode.CodeLens(new vscode.Range(0, 0, 0, 0), { title: label, command });
    const all = [
      lens("$(refresh) Refresh", "agentls.ui.audit.refresh"),
      lens("$(filter) Filter…", "agentls.ui.audit.filter"),
    ];
    if (this.#filter.tool !== undefined || this.#filter.runId !== undefined)
      all.push(lens("$(clear-all) Show All", "agentls.ui.audit"));
    return all;
  }

  /** Shows the log anew, with a filter. */
  async show(filter: AuditFilter): Promise<void> {
    this.#filter = filter;
    await this.#lines({ ...filter }, 1); // what fails is told instead of an empty document
    this.#changed.fire(uri);
    await vscode.window.showTextDocument(uri, { preview: false });
  }

  refresh(): Promise<void> {
    return this.show(this.#filter);
  }

  async filter(): Promise<void> {
    const lines = await this.#lines({});
    const tools = [...new Set(lines.map(toolOf))].sort();
    const runs = new Map<string, AuditLine[]>();
    for (const line of [...lines].reverse()) {
      if (line.runId !== undefined && line.runId !== "") runs.set(line.runId, [...(runs.get(line.runId) ?? []), line]);
    }
    const filter = await pick<AuditFilter>({
      title: "agentls: filter the audit log",
      placeholder: "Of which tool, or of which run?",
      rows: [
        { label: "$(clear-all) Show all", value: {} },
        heading("Tools"),
        ...tools.map((tool) => ({ label: `$(tools) ${label(tool)}`, value: { tool } })),
        heading("Runs"),
        ...[...runs].map(([runId, its]) => ({
          label: `$(play) ${label(runId)}`,
          description: runWords(its),
          value: { runId },
        })),
      ],
    });
    if (filter !== undefined && filter !== back) await this.show(filter);
  }

  /** Colours how each call ended. */
  paint(editor: vscode.TextEditor | undefined): void {
    if (editor?.document.uri.scheme !== scheme) return;
    this.#decorations ??= makeDecorations(this.agentls);
    for (const [outcome, decoration] of this.#decorations) {
      const its = this.#marks.filter((mark) => mark.outcome === outcome && mark.line < editor.document.lineCount);
      editor.setDecorations(
        decoration,
        its.map((mark) => wordRange(editor.document, mark)),
      );
    }
  }

  #lines(filter: AuditFilter, limit = auditLimit): Promise<AuditLine[]> {
    return this.agentls.server.command("agentls.audit", { limit, ...filter });
  }
}

function runWords(lines: AuditLine[]): string {
  const last = Date.parse(lines[0]?.time ?? "");
  return `${localDate(last)} ${localTime(last)} · ${plural(lines.length, "line")}`;
}

/** Where the word of a line's outcome stands. */
function wordRange(document: vscode.TextDocument, mark: AuditMark): vscode.Range {
  const at = Math.max(0, document.lineAt(mark.line).text.indexOf(mark.outcome));
  return new vscode.Range(mark.line, at, mark.line, at + mark.outcome.length);
}

function makeDecorations(a: Agentls): Map<string, vscode.TextEditorDecorationType> {
  const colors = {
    completed: "charts.green",
    failed: "charts.red",
    unknown: "charts.red",
    rejected: "charts.orange",
    denied: "charts.orange",
    cancelled: "charts.yellow",
  };
  return new Map(
    Object.entries(colors).map(([outcome, color]) => [
      outcome,
      a.own(vscode.window.createTextEditorDecorationType({ color: new vscode.ThemeColor(color) })),
    ]),
  );
}

export function register(a: Agentls): void {
  const view = new AuditView(a);
  a.own(vscode.workspace.registerTextDocumentContentProvider(scheme, view));
  a.own(vscode.languages.registerCodeLensProvider({ scheme }, view));
  a.own(vscode.window.onDidChangeActiveTextEditor((editor) => view.paint(editor)));
  a.own(
    vscode.workspace.onDidChangeTextDocument((event) => {
      if (event.document.uri.scheme === scheme)
        view.paint(vscode.window.visibleTextEditors.find((e) => e.document === event.document));
    }),
  );
  registerCommands(a, [
    { id: "agentls.ui.audit", needs: ["server"], run: (_, filter) => view.show(isFilter(filter) ? filter : {}) },
    { id: "agentls.ui.audit.filter", needs: ["server"], run: () => view.filter() },
    { id: "agentls.ui.audit.refresh", needs: ["server"], run: () => view.refresh() },
  ]);
}

function isFilter(value: unknown): value is AuditFilter {
  if (typeof value !== "object" || value === null) return false;
  const { tool, runId } = value as Record<string, unknown>;
  return (
    (tool === undefined || typeof tool === "string") &&
    (runId === undefined || typeof runId === "string") &&
    (tool ?? runId) !== undefined
  );
}
