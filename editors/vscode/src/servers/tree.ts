import * as vscode from "vscode";
import type { Agentls } from "../agentls.js";
import { registerCommands } from "../commands.js";
import { count, messageOf } from "../text.js";
import { listsOf, lookOf, type ListKind, type Node } from "./nodes.js";
import { isBuiltIn, needsPerson } from "./standing.js";

/** How many items of a list are shown at first, and with each Show more. */
const pageSize = 200;

/** The server lists so many at once. */
const mostAtOnce = 10_000;

/** The view `agentls.servers`. Lists are asked for when they are unfolded, and anew when something changed. */
export class ServersTree implements vscode.TreeDataProvider<Node>, vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<undefined>();
  readonly onDidChangeTreeData = this.#changed.event;
  /** How many items of a list are wanted, where more than a page are. */
  readonly #wanted = new Map<string, number>();
  readonly view: vscode.TreeView<Node>;

  constructor(readonly agentls: Agentls) {
    this.view = vscode.window.createTreeView("agentls.servers", { treeDataProvider: this, showCollapseAll: true });
    agentls.own(this.view);
    agentls.own(
      agentls.servers.onDidChange(() => {
        this.#changed.fire(undefined);
        this.#badge();
      }),
    );
  }

  getTreeItem(node: Node): vscode.TreeItem {
    const look = lookOf(node);
    const state = look.expands ? vscode.TreeItemCollapsibleState.Collapsed : vscode.TreeItemCollapsibleState.None;
    const item = new vscode.TreeItem(look.label, state);
    item.id = look.id;
    item.contextValue = look.context;
    item.tooltip = look.tooltip; // a string: nothing in it is Markdown
    if (look.description !== undefined) item.description = look.description;
    if (look.icon !== undefined) {
      item.iconPath = new vscode.ThemeIcon(
        look.icon,
        look.color === undefined ? undefined : new vscode.ThemeColor(look.color),
      );
    }
    const command = commandOf(node);
    if (command !== undefined) item.command = { command, title: "", arguments: [node] };
    return item;
  }

  async getChildren(node?: Node): Promise<Node[]> {
    if (node === undefined) return this.#roots();
    if (node.kind === "server") return listsOf(node.info);
    if (node.kind !== "list") return [];
    try {
      return await this.#items(node.server, node.list, node.count);
    } catch (error) {
      return [{ kind: "note", server: node.server, id: node.list, text: messageOf(error) }];
    }
  }

  more(node: Node): void {
    if (node.kind !== "more") return;
    this.#wanted.set(`${node.list} ${node.server}`, Math.min(node.shown + pageSize, mostAtOnce));
    this.#changed.fire(undefined);
  }

  dispose(): void {
    this.#changed.dispose();
  }

  /** Without a server of somebody's own the view says how to add one. */
  #roots(): Node[] {
    const { list } = this.agentls.servers;
    return list.every(isBuiltIn) ? [] : list.map((info) => ({ kind: "server", info }));
  }

  async #items(server: string, list: ListKind, total: number): Promise<Node[]> {
    const limit = this.#wanted.get(`${list} ${server}`) ?? pageSize;
    const { nodes, templates, stale, more } = await this.#list(server, list, limit);
    if (stale) {
      nodes.unshift({
        kind: "note",
        server,
        id: list,
        text: "This list may be out of date: the server gives none now.",
      });
    }
    if (more && limit < mostAtOnce) {
      nodes.push({ kind: "more", list, server, shown: limit, total: Math.max(total, limit) });
    } else if (more) {
      const text = `${count(total - limit, "more")} can be found by Browse MCP Resources.`;
      nodes.push({ kind: "note", server, id: `${list} more`, text });
    }
    return [...nodes, ...templates];
  }

  async #list(server: string, list: ListKind, limit: number) {
    const argument = { server, limit };
    const command = this.agentls.server;
    const templates: Node[] = [];
    let nodes: Node[];
    let page: { stale: boolean; nextCursor?: string };
    if (list === "tools") {
      const found = await command.command("agentls.mcp.tools", argument);
      [page, nodes] = [found, found.tools.map((tool): Node => ({ kind: "tool", server, tool }))];
    } else if (list === "prompts") {
      const found = await command.command("agentls.mcp.prompts", argument);
      [page, nodes] = [found, found.prompts.map((prompt): Node => ({ kind: "prompt", server, prompt }))];
    } else {
      const found = await command.command("agentls.mcp.resources", argument);
      [page, nodes] = [found, found.resources.map((resource): Node => ({ kind: "resource", server, resource }))];
      templates.push(...found.templates.map((template): Node => ({ kind: "template", server, template })));
    }
    return { nodes, templates, stale: page.stale, more: page.nextCursor !== undefined };
  }

  #badge(): void {
    const waiting = this.agentls.servers.list.filter(needsPerson);
    const tooltip = `${count(waiting.length, "MCP server needs", "MCP servers need")} you`;
    this.view.badge = waiting.length === 0 ? undefined : { value: waiting.length, tooltip };
  }
}

/** What a click does. */
function commandOf(node: Node): string | undefined {
  switch (node.kind) {
    case "resource":
    case "template":
      return "agentls.ui.resource.preview";
    case "prompt":
      return "agentls.ui.usePrompt";
    case "more":
      return "agentls.ui.servers.more";
    default:
      return undefined;
  }
}

export function register(a: Agentls): void {
  const tree = a.own(new ServersTree(a));
  registerCommands(a, [{ id: "agentls.ui.servers.more", run: (_a, node) => tree.more(node as Node) }]);
}
