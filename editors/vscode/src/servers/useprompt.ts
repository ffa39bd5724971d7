import { randomUUID } from "node:crypto";
import * as vscode from "vscode";
import type { Agentls } from "../agentls.js";
import { offer, registerCommands } from "../commands.js";
import { heading, onAccept, quickPick, type Row } from "../pick.js";
import type { Prompt } from "../protocol.js";
import { startRun } from "../run.js";
import { back } from "../steps.js";
import { label, messageOf, oneLine } from "../text.js";
import type { Documents } from "./documents.js";
import { fillIn } from "./fillin.js";
import type { Node } from "./nodes.js";
import { promptLine, promptText } from "./prompttext.js";

interface Of {
  server: string;
  mention: string;
  prompt: Prompt;
}

/** Prompts of a server that are listed. */
const most = 2000;

/** Uses a prompt: picks it, asks for its arguments, and runs it in the chat view or shows what it says. */
export async function usePrompt(a: Agentls, documents: Documents, node?: Node): Promise<void> {
  if (node?.kind === "prompt") {
    const { server, prompt } = node;
    await useOne(a, documents, { server, mention: a.servers.named(server)?.mention ?? server, prompt }, false);
    return;
  }
  const only = node === undefined ? undefined : node.kind === "server" ? node.info.name : node.server;
  const servers = (await a.servers.now()).filter(
    ({ name, prompts }) => (only === undefined || name === only) && prompts !== null && prompts > 0,
  );
  if (servers.length === 0) {
    void offer("information", "No MCP server offers prompts at the moment.", {
      "MCP Servers…": () => vscode.commands.executeCommand("agentls.ui.servers"),
    });
    return;
  }
  const rows = (await Promise.all(servers.map(({ name, mention }) => rowsOf(a, name, mention)))).flat();
  let at: Of | undefined;
  do {
    at = await pickPrompt(rows, at);
  } while (at !== undefined && (await useOne(a, documents, at, true)) === back);
}

async function rowsOf(a: Agentls, server: string, mention: string): Promise<Row<Of>[]> {
  const rows: Row<Of>[] = [heading(oneLine(server, 100))];
  let cursor: string | undefined;
  try {
    do {
      const page = await a.server.command("agentls.mcp.prompts", {
        server,
        ...(cursor === undefined ? {} : { cursor }),
      });
      for (const prompt of page.prompts) {
        rows.push({
          label: `$(symbol-snippet) ${label(prompt.title ?? "", 100) || label(prompt.name, 100)}`,
          description: label(`/${mention}:${prompt.name}`, 150),
          ...(prompt.description === undefined ? {} : { detail: label(prompt.description, 200) }),
          value: { server, mention, prompt },
        });
      }
      cursor = page.nextCursor;
    } while (cursor !== undefined && rows.length <= most);
  } catch (error) {
    rows.push({ label: `$(warning) ${label(messageOf(error))}`, alwaysShow: true });
  }
  return rows;
}

async function pickPrompt(rows: readonly Row<Of>[], active?: Of): Promise<Of | undefined> {
  return await quickPick<Of, Of>((pick, end) => {
    pick.title = "Use MCP Prompt";
    pick.placeholder = "Which prompt?";
    pick.matchOnDescription = pick.matchOnDetail = pick.ignoreFocusOut = true;
    pick.items = rows;
    pick.activeItems = rows.filter((row) => row.value !== undefined && row.value === active);
    return [onAccept(pick, end)];
  });
}

async function useOne(a: Agentls, documents: Documents, of: Of, canGoBack: boolean): Promise<typeof back | undefined> {
  const { server, mention, prompt } = of;
  const fields = prompt.arguments ?? [];
  const title = `/${mention}:${prompt.name}`;
  for (;;) {
    const form = { title, server, of: { prompt: prompt.name }, fields, canGoBack };
    const given = await fillIn(a, form);
    if (given === undefined || given === back) return given;
    const argument = { server, name: prompt.name, arguments: given };
    for (;;) {
      const next = await pickNext(title, canGoBack || fields.length > 0);
      if (next === undefined) return undefined;
      if (next === back) break;
      if (next === "run") {
        const line = promptLine(mention, prompt.name, given);
        const how = { toast: `agentls: ${line}`, prompt: line };
        await startRun(a, "agentls.mcp.usePrompt", { ...argument, run: true, session: randomUUID() }, how);
        return undefined;
      }
      const said = await a.server.command("agentls.mcp.usePrompt", argument);
      if (!("messages" in said)) throw new Error("The server ran the prompt, although it was only to show it.");
      await documents.show(`${mention} ${prompt.name}.md`, { text: promptText(said) }, { preserveFocus: true });
    }
    if (fields.length === 0) return back;
  }
}

async function pickNext(title: string, canGoBack: boolean): Promise<"run" | "preview" | typeof back | undefined> {
  return await quickPick<"run" | "preview", "run" | "preview" | typeof back>((pick, end) => {
    pick.title = oneLine(title, 100);
    pick.placeholder = "Run it, or see first what it says?";
    pick.ignoreFocusOut = true;
    pick.items = [
      { label: "$(play) Run in the chat", value: "run" },
      { label: "$(open-preview) Show its messages", description: "nothing is sent to the model", value: "preview" },
    ];
    if (canGoBack) pick.buttons = [vscode.QuickInputButtons.Back];
    return [pick.onDidTriggerButton(() => end(back)), onAccept(pick, end)];
  });
}

export function register(a: Agentls, documents: Documents): void {
  registerCommands(a, [
    {
      id: "agentls.ui.usePrompt",
      needs: ["server"],
      run: (_a, node) => usePrompt(a, documents, node as Node | undefined),
    },
  ]);
}
