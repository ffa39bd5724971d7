import * as vscode from "vscode";
import type { Agentls } from "../agentls.js";
import { offer, showFailure } from "../commands.js";
import { heading, quickPick, type Row, unsorted } from "../pick.js";
import { insertMention } from "../promptbuffer.js";
import type { Resource, ResourceTemplate, ServerInfo } from "../protocol.js";
import { back } from "../steps.js";
import { label, messageOf, oneLine } from "../text.js";
import type { Node } from "./nodes.js";
import type { ResourceFiles } from "./resourcefiles.js";
import { sizeOf } from "./resourcename.js";
import { type Found, ResourceSearch } from "./resourcesearch.js";
import { expand, preview } from "./resources.js";

type Value =
  | { kind: "resource"; server: string; resource: Resource }
  | { kind: "template"; server: string; template: ResourceTemplate }
  | { kind: "more"; server: string };

/** How many resources of a server are shown at first. */
const pageOfOne = 100;
const pageOfMany = 30;

/** How long a pause in the typing is, in milliseconds, before it is searched. */
const pause = 120;

const previewButton = { iconPath: new vscode.ThemeIcon("open-preview"), tooltip: "Preview" };
const copyButton = { iconPath: new vscode.ThemeIcon("copy"), tooltip: "Copy URI" };

/** Searches resources of all servers, or of one; the one that is taken becomes a mention where the person writes. */
export async function browse(a: Agentls, files: ResourceFiles, node?: Node): Promise<void> {
  const servers = await serversOf(a, node);
  if (servers.length === 0) {
    void offer("information", "No MCP server offers resources at the moment.", {
      "MCP Servers…": () => vscode.commands.executeCommand("agentls.ui.servers"),
    });
    return;
  }
  let query = "";
  for (;;) {
    const taken = await search(a, files, servers, query, (text) => (query = text));
    if (taken === undefined || taken.kind === "more") return;
    if (taken.kind === "resource") {
      await insertMention(a, taken.resource.mention);
      return;
    }
    const mentioned = await expand(a, taken.server, taken.template, true);
    if (mentioned === back) continue;
    if (mentioned !== undefined) await insertMention(a, mentioned.mention);
    return;
  }
}

async function serversOf(a: Agentls, node?: Node): Promise<ServerInfo[]> {
  const only = node === undefined ? undefined : node.kind === "server" ? node.info.name : node.server;
  const list = await a.servers.now();
  return list.filter((info) => (only === undefined ? info.status === "ready" || hasSome(info) : info.name === only));
}

/** A server that is not ready may have a list that still serves. */
function hasSome({ resources }: ServerInfo): boolean {
  return resources !== null && resources > 0;
}

async function search(
  a: Agentls,
  files: ResourceFiles,
  servers: readonly ServerInfo[],
  query: string,
  typed: (text: string) => void,
): Promise<Value | undefined> {
  const found = new ResourceSearch(
    servers.map((info) => info.name),
    servers.length === 1 ? pageOfOne : pageOfMany,
    (argument) => a.server.command("agentls.mcp.resources", argument),
    messageOf,
  );
  return await quickPick<Value, Value>((pick, end) => {
    pick.title = servers.length === 1 ? `Resources of ${oneLine(servers[0]!.name, 80)}` : "Resources of MCP Servers";
    pick.placeholder = "Type words of a name or URI. Enter inserts the mention.";
    pick.ignoreFocusOut = true;
    pick.keepScrollPosition = true;
    pick.value = query;
    unsorted(pick);
    let timer: NodeJS.Timeout | undefined;
    const show = () => (pick.items = rowsOf(found.found, servers.length > 1));
    const look = async () => {
      pick.busy = true;
      if (!(await found.search(pick.value))) return; // a newer one shows
      pick.busy = false;
      show();
    };
    const more = async (server: string) => {
      pick.busy = true;
      if (await found.more(server)) show();
      pick.busy = false;
    };
    void look();
    return [
      new vscode.Disposable(() => clearTimeout(timer)),
      pick.onDidChangeValue((text) => {
        typed(text);
        clearTimeout(timer);
        timer = setTimeout(() => void look(), pause);
      }),
      pick.onDidAccept(() => {
        const value = pick.selectedItems[0]?.value;
        if (value?.kind === "more") more(value.server).catch((error: unknown) => showFailure(a, error));
        else if (value !== undefined) end(value);
      }),
      pick.onDidTriggerItemButton(({ button, item }) => {
        act(files, button, item.value).catch((error: unknown) => showFailure(a, error));
      }),
    ];
  });
}

async function act(files: ResourceFiles, button: vscode.QuickInputButton, value: Value | undefined): Promise<void> {
  if (value?.kind !== "resource") return;
  const { server, resource } = value;
  if (button === copyButton) {
    await vscode.env.clipboard.writeText(resource.uri);
    return;
  }
  // The prompt stays the active editor: that is where the mention goes.
  const isPrompt = vscode.window.activeTextEditor?.document.languageId === "agentls";
  const viewColumn = isPrompt ? vscode.ViewColumn.Beside : vscode.ViewColumn.Active;
  await preview(files, { server, ...resource }, { preview: true, preserveFocus: true, viewColumn });
}

function rowsOf(found: readonly Found[], headed: boolean): Row<Value>[] {
  const rows = found.flatMap((one): Row<Value>[] => {
    const { server, resources, templates, cursor, error } = one;
    const list: Row<Value>[] = [
      ...resources.map((resource) => resourceRow(server, resource)),
      ...templates.map((template) => templateRow(server, template)),
    ];
    if (cursor !== undefined) {
      list.splice(resources.length, 0, {
        label: "$(more) Show more…",
        value: { kind: "more", server },
        alwaysShow: true,
      });
    }
    if (error !== undefined) list.push({ label: `$(warning) ${label(error)}`, alwaysShow: true });
    if (list.length === 0) return [];
    const title = oneLine(server, 100) + (one.stale && error === undefined ? " (may be out of date)" : "");
    return headed || one.stale ? [heading(title), ...list] : list;
  });
  return rows.length > 0 ? rows : [{ label: "$(info) No resource has these words.", alwaysShow: true }];
}

function resourceRow(server: string, resource: Resource): Row<Value> {
  const { uri, name, title, description, mimeType, size, stale } = resource;
  const kind = [mimeType === undefined ? "" : oneLine(mimeType, 60), size === undefined ? "" : sizeOf(size)];
  const detail = [label(description ?? "", 150), ...kind].filter((part) => part !== "").join(" · ");
  return {
    label: `${stale ? "$(sync)" : "$(file)"} ${label(title ?? "", 100) || label(name, 100) || label(uri, 100)}`,
    description: label(uri, 300),
    ...(detail === "" ? {} : { detail }),
    buttons: [previewButton, copyButton],
    value: { kind: "resource", server, resource },
    alwaysShow: true, // the server has searched already
  };
}

function templateRow(server: string, template: ResourceTemplate): Row<Value> {
  const { uriTemplate, name, title, description } = template;
  return {
    label: `$(symbol-variable) ${label(title ?? "", 100) || label(name, 100) || label(uriTemplate, 100)}…`,
    description: label(uriTemplate, 300),
    ...(description === undefined || description === "" ? {} : { detail: label(description, 150) }),
    value: { kind: "template", server, template },
    alwaysShow: true,
  };
}
