import * as vscode from "vscode";
import type { Agentls } from "../agentls.js";
import { offer, registerCommands, showFailure } from "../commands.js";
import { heading, onAccept, quickPick, type Row } from "../pick.js";
import type { ServerInfo } from "../protocol.js";
import { back } from "../steps.js";
import { label, oneLine } from "../text.js";
import type { Actions } from "./actions.js";
import type { Node } from "./nodes.js";
import {
  actionsOf,
  actionWords,
  countsOf,
  describe,
  iconOf,
  isBuiltIn,
  type ServerAction,
  sourceOf,
} from "./standing.js";

/** What is done without leaving the list: its rows show what comes of it. */
const inPlace: readonly ServerAction[] = ["start", "stop", "restart"];

type Choice = ServerAction | "resources" | "prompts";

/** The list of servers, with what can be done about each. It follows what happens. */
async function manage(a: Agentls, actions: Actions): Promise<void> {
  await a.servers.now();
  let name: string | undefined;
  for (;;) {
    name = await pickServer(a, actions, name);
    if (name === undefined) return;
    const info = a.servers.named(name);
    const choice = info === undefined ? back : await pickChoice(info);
    if (choice === undefined) return;
    if (choice === back) continue;
    if (info !== undefined) await choose(info, choice, actions);
    if (!inPlace.some((action) => action === choice)) return;
  }
}

async function choose(info: ServerInfo, choice: Choice, actions: Actions): Promise<void> {
  const node: Node = { kind: "server", info };
  if (choice === "resources") await vscode.commands.executeCommand("agentls.ui.resources", node);
  else if (choice === "prompts") await vscode.commands.executeCommand("agentls.ui.usePrompt", node);
  else await actions.run(choice, info);
}

const configure = "\0configure";

/** The name of the server that was picked; what its buttons do is done. */
async function pickServer(a: Agentls, actions: Actions, active?: string): Promise<string | undefined> {
  const taken = await quickPick<string, string>((pick, end) => {
    pick.title = "MCP Servers";
    pick.placeholder = "Which server?";
    pick.matchOnDescription = pick.matchOnDetail = true;
    const show = (name: string | undefined) => {
      pick.items = [
        ...a.servers.list.map(serverRow),
        heading(""),
        { label: "$(add) Add a server…", value: configure, alwaysShow: true },
      ];
      pick.activeItems = pick.items.filter((row) => row.value !== undefined && row.value === name);
    };
    show(active);
    return [
      a.servers.onDidChange(() => show(pick.activeItems[0]?.value)),
      onAccept(pick, end),
      pick.onDidTriggerItemButton(({ button, item }) => {
        const info = a.servers.named(item.value ?? "");
        const action = info === undefined ? undefined : actionsOf(info).find((one) => buttons[one] === button);
        if (info === undefined || action === undefined) return;
        if (!inPlace.includes(action)) end(undefined);
        actions.run(action, info).catch((error: unknown) => showFailure(a, error));
      }),
    ];
  });
  if (taken !== configure) return taken;
  await vscode.commands.executeCommand("agentls.ui.servers.configure");
  return undefined;
}

const buttons = Object.fromEntries(
  Object.entries(actionWords).map(([action, { title, icon }]) => [
    action,
    { iconPath: new vscode.ThemeIcon(icon), tooltip: title },
  ]),
) as unknown as Record<ServerAction, vscode.QuickInputButton>;

function serverRow(info: ServerInfo): Row<string> {
  const detail = info.status === "ready" || countsOf(info) === describe(info) ? "" : countsOf(info);
  const parts = [
    isBuiltIn(info) ? "part of agentls: the files of this folder" : label(sourceOf(info), 150),
    label(detail),
  ];
  return {
    label: `$(${iconOf(info).icon}) ${label(info.name, 100)}`,
    description: label(describe(info), 150),
    detail: parts.filter((part) => part !== "").join(" · "),
    buttons: actionsOf(info)
      .slice(0, 4)
      .map((action) => buttons[action]),
    value: info.name,
  };
}

async function pickChoice(info: ServerInfo): Promise<Choice | typeof back | undefined> {
  return await quickPick<Choice, Choice | typeof back>((pick, end) => {
    pick.title = oneLine(info.name, 100);
    pick.placeholder = oneLine(describe(info), 150);
    pick.buttons = [vscode.QuickInputButtons.Back];
    const rows: Row<Choice>[] = actionsOf(info).map((action) => ({
      label: `$(${actionWords[action].icon}) ${actionWords[action].title}`,
      value: action,
    }));
    if (info.resources !== null && info.resources > 0) {
      rows.push({ label: "$(references) Browse its resources…", value: "resources" });
    }
    if (info.prompts !== null && info.prompts > 0) {
      rows.push({ label: "$(symbol-snippet) Use one of its prompts…", value: "prompts" });
    }
    pick.items = rows;
    return [pick.onDidTriggerButton(() => end(back)), onAccept(pick, end)];
  });
}

/** What to say where no server is such that something can be done. */
const nothing: Record<ServerAction, string> = {
  distrust: "No MCP server of this folder is trusted.",
  login: "No MCP server wants a login: only those with a URL do.",
  logout: "No MCP server has a login: only those with a URL do.",
  logs: "No MCP server has said anything.",
  restart: "No MCP server runs that could be restarted.",
  start: "No MCP server is stopped.",
  stop: "No MCP server runs that could be stopped.",
  trust: "No MCP server waits for your trust.",
};

/** Does something about the server of a node, or about one that the person picks. */
async function act(a: Agentls, actions: Actions, action: ServerAction, node?: Node): Promise<void> {
  const list = await a.servers.now();
  let info: ServerInfo | undefined;
  if (node === undefined) {
    const able = list.filter((one) => actionsOf(one).includes(action));
    if (able.length === 0) {
      void offer("information", nothing[action], {});
      return;
    }
    const rows = able.map((one) => ({ ...serverRow(one), buttons: [], info: one }));
    const title = `${actionWords[action].title.replace("…", "")}: MCP Server`;
    info = (await vscode.window.showQuickPick(rows, { title, placeHolder: "Which server?", matchOnDescription: true }))
      ?.info;
    if (info === undefined) return;
  } else {
    const name = node.kind === "server" ? node.info.name : node.server;
    info = list.find((one) => one.name === name);
    if (info === undefined) throw new Error(`${oneLine(name, 100)} is not configured any more.`);
  }
  await actions.run(action, info);
}

export function register(a: Agentls, actions: Actions): void {
  const all = Object.keys(actionWords) as ServerAction[];
  registerCommands(a, [
    { id: "agentls.ui.servers", needs: ["server"], run: () => manage(a, actions) },
    ...all.map((action) => ({
      id: `agentls.ui.server.${action}` as const,
      needs: ["server"] as const,
      run: (_a: Agentls, node: unknown) => act(a, actions, action, node as Node | undefined),
    })),
  ]);
}
