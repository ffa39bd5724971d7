import { extname } from "node:path";
import * as vscode from "vscode";
import type { Agentls } from "../agentls.js";
import { offer, registerCommands } from "../commands.js";
import { insertMention } from "../promptbuffer.js";
import type { ResourceTemplate } from "../protocol.js";
import { back } from "../steps.js";
import { oneLine, plain } from "../text.js";
import { browse } from "./browse.js";
import { fillIn } from "./fillin.js";
import type { Node } from "./nodes.js";
import { ResourceFiles, type ResourceRef } from "./resourcefiles.js";
import { bytesOf, describeBytes, shownAs } from "./resourcename.js";

/** A resource, and what mentions it. */
export interface Mentioned extends ResourceRef {
  mention: string;
  mimeType?: string;
}

/** Shows a resource in an editor; what no editor shows is named, and can be saved. */
export async function preview(
  files: ResourceFiles,
  { server, uri, mimeType }: ResourceRef & { mimeType?: string },
  options: vscode.TextDocumentShowOptions,
): Promise<void> {
  const { uri: file, contents } = await files.open({ server, uri }, mimeType);
  if (shownAs(contents) !== "binary") {
    await vscode.commands.executeCommand("vscode.open", file, options);
    return;
  }
  const what = contents.length === 1 ? describeBytes(contents[0]!) : `${contents.length} parts`;
  void offer("information", `${plain(uri, 200)} cannot be shown here: ${what}.`, {
    "Save As…": () => save(bytesOf(contents), file),
  });
}

async function save(bytes: Uint8Array, file: vscode.Uri): Promise<void> {
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  const name = file.path.split("/").at(-1)!;
  const suffix = extname(name).slice(1);
  const target = await vscode.window.showSaveDialog({
    ...(folder === undefined ? {} : { defaultUri: vscode.Uri.joinPath(folder, name) }),
    ...(suffix === "" ? {} : { filters: { [suffix.toUpperCase()]: [suffix] } }),
  });
  if (target !== undefined) await vscode.workspace.fs.writeFile(target, bytes);
}

/** Asks for the values of a template, and gives what it says with them. */
export async function expand(
  a: Agentls,
  server: string,
  template: ResourceTemplate,
  canGoBack: boolean,
): Promise<Mentioned | typeof back | undefined> {
  const { uriTemplate, mimeType, variables } = template;
  const last = variables.at(-1);
  if (last === undefined) throw new Error(`${oneLine(uriTemplate, 200)} is no template that agentls can fill in.`);
  const title = template.title ?? template.name;
  const form = {
    title: `${title}: ${uriTemplate}`,
    server,
    of: { template: uriTemplate },
    fields: variables,
    canGoBack,
  };
  const given = await fillIn(a, form);
  if (given === undefined || given === back) return given;
  const { [last.name]: value = "", ...others } = given;
  const argument = { server, template: uriTemplate, argument: last.name, value, arguments: others };
  const { uri, mention } = await a.server.command("agentls.mcp.complete", argument);
  if (uri === undefined || mention === undefined) throw new Error("A value that the template needs is missing.");
  return { server, uri, mention, ...(mimeType === undefined ? {} : { mimeType }) };
}

/** What a node of the tree stands for; undefined: the person left. */
async function resourceOf(a: Agentls, argument: unknown): Promise<Mentioned | undefined> {
  const node = argument as Node | undefined;
  if (node?.kind === "template") {
    const mentioned = await expand(a, node.server, node.template, false);
    return mentioned === back ? undefined : mentioned;
  }
  if (node?.kind !== "resource") throw new Error("Pick a resource in the view MCP Servers, or browse them.");
  const { uri, mention, mimeType } = node.resource;
  return { server: node.server, uri, mention, ...(mimeType === undefined ? {} : { mimeType }) };
}

export function register(a: Agentls): void {
  const files = new ResourceFiles(a);
  const on = (run: (resource: Mentioned) => unknown) => ({
    needs: ["server"] as const,
    run: async (_a: Agentls, node: unknown) => {
      const resource = await resourceOf(a, node);
      if (resource !== undefined) await run(resource);
    },
  });
  registerCommands(a, [
    { id: "agentls.ui.resource.copy", ...on(({ uri }) => vscode.env.clipboard.writeText(uri)) },
    { id: "agentls.ui.resource.insert", ...on(({ mention }) => insertMention(a, mention)) },
    {
      id: "agentls.ui.resource.preview",
      ...on((resource) => preview(files, resource, { preview: true, preserveFocus: true })),
    },
    { id: "agentls.ui.resources", needs: ["server"], run: (_a, node) => browse(a, files, node as Node | undefined) },
  ]);
}
