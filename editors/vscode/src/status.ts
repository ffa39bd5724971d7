import * as vscode from "vscode";
import type { Agentls } from "./agentls.js";
import { registerCommands } from "./commands.js";
import { heading, onAccept, quickPick, type Row } from "./pick.js";
import type { ServerNotifications } from "./protocol.js";
import { needsPerson } from "./servers/standing.js";
import { isOffline, modelLabel, modelLine, type Standing, statusOf } from "./statustext.js";
import { count, label, plain } from "./text.js";

/** The item in the status bar, and in prompts what answers. */
class Status {
  readonly #item = vscode.window.createStatusBarItem("agentls", vscode.StatusBarAlignment.Right, 100);
  readonly #language = vscode.languages.createLanguageStatusItem("agentls.model", { language: "agentls" });
  #model: ServerNotifications["agentls/didChangeModel"] | undefined;

  constructor(readonly agentls: Agentls) {
    const { server, runs, questions, servers } = agentls;
    this.#item.name = "agentls";
    this.#item.command = "agentls.ui.status";
    this.#language.name = "agentls: Model";
    this.#language.command = { command: "agentls.ui.model", title: "Pick Model" };
    for (const one of [this.#item, this.#language]) agentls.own(one);
    const show = () => this.#show();
    agentls.own(
      server.onNotification("agentls/didChangeModel", (model) => {
        this.#model = model;
        show();
      }),
    );
    agentls.own(
      server.onDidChange((state) => {
        if (state !== "ready") this.#model = undefined;
        show();
      }),
    );
    agentls.own(runs.onDidChange(show));
    agentls.own(questions.onDidChange(show));
    agentls.own(servers.onDidChange(show));
    show();
    this.#item.show();
  }

  standing(): Standing {
    const { server, runs, questions, servers } = this.agentls;
    const failed = servers.list.filter((info) => info.status === "failed");
    const waiting = servers.list.filter((info) => info.status !== "failed" && needsPerson(info));
    return {
      state: server.state,
      reason: server.reason,
      runs: runs.active().length,
      questions: questions.open.length,
      failed: failed.map((info) => info.name),
      waiting: waiting.map((info) => info.name),
      model: this.#model,
    };
  }

  #shown = "";

  #show(): void {
    const standing = this.standing();
    const look = statusOf(standing);
    const shown = JSON.stringify([look, standing.model]);
    if (shown === this.#shown) return; // each delta of an answer comes here
    this.#shown = shown;
    this.#item.text = look.text;
    this.#item.tooltip = look.tooltip; // a string: nothing in it is Markdown
    this.#item.accessibilityInformation = { label: look.spoken };
    this.#item.backgroundColor =
      look.severity === "none" ? undefined : new vscode.ThemeColor(`statusBarItem.${look.severity}Background`);
    this.#language.text = modelLabel(standing);
    this.#language.detail = label(plain(modelLine(standing))); // VS Code looks for links and icons in it
    this.#language.severity = isOffline(standing)
      ? vscode.LanguageStatusSeverity.Warning
      : vscode.LanguageStatusSeverity.Information;
  }
}

/** A command, and its arguments. */
type Choice = [command: string, ...args: unknown[]];

/** What can be done at this moment. */
async function menu(a: Agentls, status: Status): Promise<void> {
  const standing = status.standing();
  const choice = await quickPick<Choice, Choice>((pick, end) => {
    pick.title = "agentls";
    pick.placeholder = modelLine(standing);
    pick.items = rowsOf(a, standing);
    return [
      onAccept(pick, end),
      pick.onDidTriggerItemButton(({ item }) => {
        const value = item.value;
        if (value?.[0] === showRun) end([cancelRun, value[1]]);
      }),
    ];
  });
  if (choice === undefined) return;
  const [command, ...args] = choice;
  if (command === showRun) await a.panel.show({ runId: args[0] as string, focus: true });
  else if (command === cancelRun) await a.server.command("agentls.cancel", { runId: args[0] as string });
  else await vscode.commands.executeCommand(command, ...args);
}

const showRun = "\0run";
const cancelRun = "\0cancel";

function rowsOf(a: Agentls, s: Standing): Row<Choice>[] {
  const log: Row<Choice>[] = [
    { label: "$(output) Show Log", value: ["agentls.ui.log"] },
    { label: "$(refresh) Restart Server", value: ["agentls.ui.restart"] },
  ];
  if (s.state !== "ready") return log;
  const rows: Row<Choice>[] = [];
  if (s.questions > 0) {
    const text = count(s.questions, "question waits", "questions wait");
    rows.push({
      label: `$(question) Answer Questions…`,
      description: `${text} for you`,
      value: ["agentls.ui.questions"],
    });
  }
  const buttons = [{ iconPath: new vscode.ThemeIcon("debug-stop"), tooltip: "Cancel" }];
  for (const run of a.runs.active()) {
    const description = run.status === "waiting" ? "waits for you" : run.status;
    rows.push({
      label: `$(loading~spin) ${label(run.prompt ?? "a run", 80)}`,
      description,
      buttons,
      value: [showRun, run.id],
    });
  }
  if (rows.length > 0) rows.push(heading(""));
  const troubled = s.failed.length + s.waiting.length;
  rows.push(
    { label: "$(comment-discussion) Ask…", value: ["agentls.ui.ask"] },
    { label: "$(comment) Open Chat", value: ["agentls.ui.panel"] },
    heading(""),
    {
      label: "$(server) MCP Servers…",
      description: troubled === 0 ? "" : count(troubled, "needs you", "need you"),
      value: ["agentls.ui.servers"],
    },
    { label: "$(symbol-parameter) Pick Model…", description: modelLabel(s), value: ["agentls.ui.model"] },
    { label: "$(gear) Set Up a Model…", value: ["agentls.ui.setup"] },
    heading(""),
    ...log,
  );
  return rows;
}

export function register(a: Agentls): void {
  const status = new Status(a);
  registerCommands(a, [{ id: "agentls.ui.status", run: () => menu(a, status) }]);
}
