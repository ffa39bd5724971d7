import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as vscode from "vscode";
import type { Agentls } from "../../src/agentls.js";
import type { Node } from "../../src/servers/nodes.js";
import { extension, until } from "./here.js";
import { World } from "../driver/world.js";

const world = World.here();
let a: Agentls;

const run = (command: string, ...args: unknown[]) => vscode.commands.executeCommand(`agentls.ui.${command}`, ...args);
const accept = () => vscode.commands.executeCommand("workbench.action.acceptSelectedQuickOpenItem");
const server = (): Node => ({ kind: "server", info: a.servers.named("lists")! });
const status = () => a.servers.named("lists")?.status;
const shown = (name: string) => vscode.workspace.textDocuments.find((document) => document.uri.path.endsWith(name));

/** What the MCP server wrote down. */
const heard = () =>
  readFileSync(join(world.dir, "lists.log"), "utf8")
    .split("\n")
    .filter((line) => line.endsWith("}"))
    .map((line) => JSON.parse(line) as { pid?: number; method?: string });
const pids = () => heard().flatMap(({ pid }) => (pid === undefined ? [] : [pid]));

async function resource(name: string): Promise<Node> {
  const { resources } = await a.server.command("agentls.mcp.resources", { server: "lists", query: name });
  return { kind: "resource", server: "lists", resource: resources[0]! };
}

/** How often the extension ran a command of the server. */
const sent = (command: string) =>
  world.sent("editor", "workspace/executeCommand").filter(({ params }) => params.command === command);

async function prompt(): Promise<vscode.TextDocument> {
  const document = await vscode.workspace.openTextDocument(vscode.Uri.file(join(world.project, "ask.agentls.md")));
  await vscode.window.showTextDocument(document);
  return document;
}

describe("MCP servers", () => {
  before(async () => {
    a = await extension();
    await a.server.ready();
    await until(
      "the lists",
      () => a.servers.named("lists")?.resources === 52 && a.servers.named("lists")?.prompts === 2,
    );
  });

  it("are known without a poll", async () => {
    const asked = sent("agentls.mcp.servers").length;
    assert.ok(world.sent("server", "agentls/didChangeServers").length > 0);
    assert.ok(asked <= world.sent("server", "agentls/didChangeServers").length + 1, `asked ${asked} times`);
    await until("the model", () => world.sent("server", "agentls/didChangeModel").length);
  });

  it("server.stop, server.start and server.restart", async () => {
    await run("server.stop", server());
    await until("its end", () => status() === "disabled");
    await run("server.start", server());
    await until("its start", () => status() === "ready");
    const before = pids().length;
    await run("server.restart", server());
    await until("another process", () => pids().length > before && status() === "ready");
  });

  it("server.logs shows them and goes on", async () => {
    await run("server.logs", server());
    const document = await until("the document", () => shown("/lists.log"));
    assert.equal(document.languageId, "log");
    const lines = document.lineCount;
    await run("server.restart", server());
    await until("more of it", () => document.lineCount > lines);
  });

  it("server.login and server.logout of a program say that there is none", async () => {
    await run("server.login", server());
    await run("server.logout", server());
    for (const command of ["agentls.mcp.login", "agentls.mcp.logout"]) {
      const [request] = sent(command);
      const answer = await until(command, () => world.response(request!));
      assert.match((answer.result as { note: string }).note, /is a program and wants no login/u);
    }
  });

  it("resource.preview shows what the server has, read-only, and follows it", async () => {
    await until("its lists", () => status() === "ready" && a.servers.named("lists")?.resources === 52);
    process.kill(pids().at(-1)!, "SIGUSR2");
    await until("one more", () => a.servers.named("lists")?.resources === 53);
    await run("resource.preview", await resource("late0"));
    const document = await until("the document", () => shown("/late0.md"));
    assert.equal(document.languageId, "markdown");
    assert.match(document.getText(), /"version": 1/u);
    assert.equal(vscode.workspace.fs.isWritableFileSystem(document.uri.scheme), false);
    await assert.rejects(async () => await vscode.workspace.fs.writeFile(document.uri, new Uint8Array()));
    process.kill(pids().at(-1)!, "SIGUSR1");
    await until("the change", () => document.getText().includes('"version": 2'));
  });

  it("resource.copy and resource.insert", async () => {
    const document = await prompt();
    await run("resource.copy", await resource("item7.json"));
    assert.equal(await vscode.env.clipboard.readText(), "list://items/7/item7.json");
    await run("resource.insert", await resource("item7.json"));
    assert.equal(document.getText(), "@lists:list://items/7/item7.json");
  });

  it("resources inserts what was taken", async () => {
    const document = await prompt();
    const before = document.getText();
    const asked = sent("agentls.mcp.resources").length;
    const done = run("resources", server());
    const request = await until("the search", () => sent("agentls.mcp.resources")[asked]);
    await until("what it found", () => world.response(request));
    await until("the mention", async () => {
      await accept();
      return document.getText() !== before;
    });
    await done;
    assert.match(document.getText(), /@lists:list:\/\/items\/0\/item0\.json/u);
  });

  it("usePrompt runs one in the chat", async () => {
    const node: Node = { kind: "prompt", server: "lists", prompt: { name: "hello" } };
    const done = run("usePrompt", node);
    await until("the run", async () => {
      await accept();
      return sent("agentls.mcp.usePrompt").length;
    });
    await until("the model", () => JSON.stringify(world.requests()).includes("SAY hello to nowhere in any month"));
    await done;
    const [request] = sent("agentls.mcp.usePrompt");
    const { runId } = (request!.params as { arguments: [{ runId: string }] }).arguments[0];
    assert.equal(a.runs.get(runId)?.prompt, "/lists:hello");
    assert.equal(a.runs.get(runId)?.status, "completed");
  });

  it("servers.configure makes the file that it opens", async () => {
    const done = run("servers.configure");
    await until("the file", async () => {
      await accept();
      return shown(join("config", "agentls", "mcp.json"));
    });
    await done;
    assert.match(shown("mcp.json")!.getText(), /"mcpServers": \{/u);
  });

  it("servers and status open a list that can be left", async () => {
    for (const command of ["servers", "status", "server.trust", "server.distrust"]) {
      let ended = false;
      const done = Promise.resolve(run(command)).then(() => (ended = true));
      await until(command, async () => {
        await vscode.commands.executeCommand("workbench.action.closeQuickOpen");
        return ended;
      });
      await done;
    }
  });
});
