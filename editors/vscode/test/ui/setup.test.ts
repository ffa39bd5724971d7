import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { workbench } from "../driver/workbench";

const key = "sk-typed-by-a-person-0123456789";

/** An endpoint that answers those who have the key, with two models. */
async function guarded(): Promise<{ server: Server; address: string; heard: (string | undefined)[] }> {
  const heard: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    heard.push(request.headers.authorization);
    response.setHeader("content-type", "application/json");
    if (request.headers.authorization !== `Bearer ${key}`) {
      response.writeHead(401).end(JSON.stringify({ error: { message: "wrong key" } }));
      return;
    }
    if (request.method === "GET") {
      response.end(
        JSON.stringify({
          object: "list",
          data: ["guarded-large", "guarded-small"].map((id) => ({ id, object: "model" })),
        }),
      );
      return;
    }
    response.setHeader("content-type", "text/event-stream");
    const delta = {
      id: "1",
      object: "chat.completion.chunk",
      model: "m",
      choices: [{ index: 0, delta: { content: "Guarded hello." }, finish_reason: "stop" }],
    };
    response.end(`data: ${JSON.stringify(delta)}\n\ndata: [DONE]\n\n`);
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return { server, address: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, heard };
}

/** The files below a folder that hold a text. */
function holding(folder: string, text: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => {
    const path = join(folder, name);
    const info = statSync(path, { throwIfNoEntry: false });
    return info?.isFile() === true && readFileSync(path).includes(text);
  });
}

test("a model is set up with a key that nobody but the server gets", async (t) => {
  const { server, address, heard } = await guarded();
  t.after(() => server.close());
  const w = await workbench(t, { provider: false, mcp: {} });
  const setups = () =>
    w.world.sent("editor", "workspace/executeCommand").filter((m) => m.params.command === "agentls.setup");
  /** Picks a row that may be too far below to be drawn. */
  const choose = async (label: string) => {
    await w.quickInput().fill(label);
    await w.pick(label);
  };
  const toKey = async () => {
    await w.command("agentls: Set Up a Model…");
    await w.quick("Which provider is to answer?");
    await choose("Another endpoint…");
    await w.input("The address of this endpoint", address);
    await w.quick("VS Code keeps it in its secret storage");
  };

  await t.test("what is known and what is typed can be chosen", async () => {
    await w.command("agentls: Set Up a Model…");
    await w.quick("Which provider is to answer?");
    await w.row("OpenAI").waitFor();
    await w.shot("set up");
    await w.press("Escape");
  });

  await t.test("a wrong address and a wrong key are said, and each step goes back", async () => {
    await w.command("agentls: Set Up a Model…");
    await w.quick("Which provider is to answer?");
    await choose("Another endpoint…");
    await w.input("The address of this endpoint", "127.0.0.1");
    await w.quick("Type the whole address");
    await w.page.locator(".quick-input-left-action-bar .action-label").click();
    await w.quick("Which provider is to answer?");
    await choose("Another endpoint…");
    await w.input("The address of this endpoint", address);
    await w.input("VS Code keeps it in its secret storage", "sk-wrong-0123456789");
    await w.quick("refuses the key");
    await w.shot("set up wrong key");
  });

  await t.test("who leaves finds everything as it was", async () => {
    const servers = w.world.servers().length;
    await w.press("Escape");
    await w.until("the restart without the key", () => w.world.servers().length > servers);
    await w.until("the server", () => w.world.sent("editor", "initialized").length >= 3);
    assert.equal(w.world.configuration().providers, undefined);
    assert.deepEqual(holding(w.world.dir, "sk-wrong-0123456789"), []);
  });

  await t.test("the right key leads to the models, and the choice is written", async () => {
    await toKey();
    await w.input("VS Code keeps it in its secret storage", key);
    await w.quick("Which model of");
    await w.shot("set up model");
    await w.pick("guarded-small");
    await w.toast("guarded-small of ").waitFor();
    const { providers, provider } = w.world.configuration();
    assert.equal(providers[provider].model, "guarded-small");
    assert.equal(providers[provider].apiKey, "${AGENTLS_127_0_0_1_API_KEY:-}");
    assert.ok(heard.includes(`Bearer ${key}`));
  });

  // A workbench in a browser keeps secrets as long as its page alone: that it is opened anew cannot be tested here.
  await t.test("it answers, also after the server was started anew", async () => {
    const answered = () =>
      w.world.sent("server", "agentls/runEvent").filter((m) => String(m.params.delta).includes("Guarded hello."));
    await w.command("agentls: Ask…");
    await w.input("", "hello");
    await w.until("the answer", () => answered().length > 0);
    const before = { initialized: w.world.sent("editor", "initialized").length, answered: answered().length };
    await w.command("agentls: Restart Server");
    await w.until("the server", () => w.world.sent("editor", "initialized").length > before.initialized);
    await w.command("agentls: Ask…");
    await w.input("", "hello again");
    await w.until("the second answer", () => answered().length > before.answered);
  });

  await t.test("the model is picked for this window, and can be kept", async () => {
    await w.command("agentls: Pick Model…");
    await w.row(/guarded-small/).waitFor();
    await w.shot("pick model");
    await w.pick("guarded-large");
    await w.toast("guarded-large of").waitFor();
    const provider = w.world.configuration().provider;
    assert.equal(w.world.configuration().providers[provider].model, "guarded-small");
    await w.toastButton("answers in this window from now on", "Keep It");
    await w.until("the file", () => w.world.configuration().providers[provider].model === "guarded-large");
  });

  await t.test("the key is in no file, no setting, no log and not on the wire", () => {
    assert.deepEqual(holding(w.world.dir, key), []);
    assert.ok(!JSON.stringify(w.world.wire()).includes(key));
    assert.ok(!JSON.stringify(setups()).includes("sk-"));
  });

  await t.test("the walkthrough ticks off what was done", async () => {
    await w.command("Welcome: Open Walkthrough...");
    await w.pick("Get Started with agentls");
    const done = w.page.locator(".getting-started-step").filter({ has: w.page.locator(".complete") });
    for (const step of ["The server runs", "Set up a model", "Ask"])
      await done
        .filter({ has: w.page.getByText(step, { exact: true }) })
        .first()
        .waitFor();
    await w.shot("walkthrough");
    await w.theme("dark");
    await w.shot("walkthrough dark");
  });

  await t.test("a kept key can be forgotten", async () => {
    await w.command("agentls: Set Up a Model…");
    await w.quick("Which provider is to answer?");
    await choose("Keys kept here…");
    await w.pick("AGENTLS_127_0_0_1_API_KEY");
    await w.quick("A provider that needs it does not answer any more");
    await w.pick("Forget it");
    await w.toast("The key AGENTLS_127_0_0_1_API_KEY is forgotten").waitFor();
    const before = heard.length;
    await w.command("agentls: Ask…");
    await w.input("", "hello once more");
    await w.toast("Show Log").or(w.page.locator(".notification-toast")).first().waitFor();
    assert.ok(!heard.slice(before).includes(`Bearer ${key}`));
  });
});
