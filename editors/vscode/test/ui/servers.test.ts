// The MCP servers as a person sees them: their tree, resources and prompts, against servers that others wrote and one with
// 10,000 resources.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { extensionFolder } from "../driver/world";
import { type Workbench, workbench } from "../driver/workbench";

const fixtures = join(extensionFolder, "..", "testing");
const real = join(extensionFolder, "..", "..", "mcp", "mcptest", "servers", "node_modules", "@modelcontextprotocol");
const node = process.execPath;

const mcp = {
  broken: { command: node, args: ["-e", "console.error('no database at \\u202elocalhost'); process.exit(3)"] },
  everything: { command: node, args: [join(real, "server-everything", "dist", "index.js"), "stdio"] },
  files: { command: node, args: [join(real, "server-filesystem", "dist", "index.js"), "${workspaceFolder}"] },
  lists: { command: node, args: [join(fixtures, "mcplists.mjs"), "${userHome}/lists.log", "10000"] },
};
const shared = {
  command: node,
  args: [join(fixtures, "mcplists.mjs"), "${workspaceFolder}/shared.log", "3"],
  env: { GREETING: "hello" },
};

const listsLog = (w: Workbench): { pid?: number; method?: string; params?: Record<string, unknown> }[] =>
  readFileSync(join(w.world.dir, "lists.log"), "utf8")
    .split("\n")
    .filter((line) => line.endsWith("}"))
    .map((line) => JSON.parse(line) as { pid?: number; method?: string });

/** The arguments of the calls of a command of the server. */
const called = (w: Workbench, command: string) =>
  w.world
    .sent("editor", "workspace/executeCommand")
    .filter(({ params }) => params.command === command)
    .map(({ params }) => params.arguments[0] as Record<string, unknown>);

async function openTree(w: Workbench): Promise<void> {
  await w.command("agentls: Focus on MCP Servers View");
  await w.page.locator(".pane-header[aria-expanded=true]", { hasText: "Chat" }).click();
  await w.treeRow("lists").waitFor();
}

/** Unfolds a row. */
async function unfold(w: Workbench, row: string | RegExp): Promise<void> {
  const found = w.treeRow(row);
  await found.locator(".monaco-tl-twistie.collapsed").click();
  await found.locator(".monaco-tl-twistie:not(.collapsed)").waitFor();
}

async function fold(w: Workbench, row: string | RegExp): Promise<void> {
  await w.treeRow(row).locator(".monaco-tl-twistie:not(.collapsed)").click();
  await w.treeRow(row).locator(".monaco-tl-twistie.collapsed").waitFor();
}

test("MCP servers in the workbench", async (t) => {
  const files = { "ask.agentls.md": "", ".mcp.json": JSON.stringify({ mcpServers: { shared } }) };
  const w = await workbench(t, { files, mcp });

  await t.test("the tree shows each with its state", async () => {
    await openTree(w);
    await w.treeRow(/everything.*\d+ tools · \d+ resources · \d+ prompts/s).waitFor();
    await w.treeRow(/files.*\d+ tools/s).waitFor();
    await w.treeRow(/lists.*1 tool · 10,002 resources · 2 prompts/s).waitFor();
    await w.treeRow(/broken.*failed/s).waitFor();
    await w.treeRow(/shared.*not trusted/s).waitFor();
    await w.treeRow("workspace").waitFor();
    await w.page.locator('[aria-label*="2 MCP servers need you"]').first().waitFor();
    await w.shot("servers tree");
  });

  await t.test("a list of 10,000 is shown page by page", async () => {
    await unfold(w, /lists.*1 tool/s);
    await unfold(w, /Resources.*10,002/s);
    await w.treeRow("item0.json").waitFor();
    const before = called(w, "agentls.mcp.resources").length;
    await w.until("the row of the rest", async () => {
      await w.press("End");
      return await w.page
        .locator(".customview-tree .monaco-list-row", { hasText: "Show more… (200 of 10,002)" })
        .count();
    });
    await w.page.locator(".customview-tree .monaco-list-row", { hasText: "Show more…" }).click();
    await w.until("the next page", () =>
      called(w, "agentls.mcp.resources")
        .slice(before)
        .some(({ limit }) => limit === 400),
    );
    await w.shot("servers resources");
  });

  await t.test("a list that changes is shown anew", async () => {
    await w.press("Home");
    process.kill(listsLog(w)[0]!.pid!, "SIGUSR2");
    await w.treeRow(/lists.*10,003 resources/s).waitFor();
  });

  await t.test("a server that fails shows its last words", async () => {
    await w.contextMenu(w.treeRow("broken"), "Show Logs of MCP Server…");
    await w.tab("broken.log").waitFor();
    await w.until("the log", async () => (await w.text()).includes("no database at localhost"));
  });

  await t.test("a server of the project runs once its whole definition was seen and trusted", async () => {
    await w.press("Home");
    await fold(w, /lists.*1 tool/s);
    await w.treeButton("shared", "Trust MCP Server…");
    await w.quick("Trust the MCP server shared");
    await w.until("its definition", async () => {
      const text = await w.text();
      return text.includes("mcplists.mjs") && text.includes("GREETING") && text.includes("fingerprint");
    });
    await w.shot("servers trust");
    await w.press("Enter"); // the first answer is the safe one
    await w.page.locator(".quick-input-widget").waitFor({ state: "hidden" });
    assert.deepEqual(called(w, "agentls.mcp.trust"), []);
    await w.treeButton("shared", "Trust MCP Server…");
    await w.pick(/Trust and start/);
    await w.treeRow(/shared.*5 resources/s).waitFor();
    const [trust] = called(w, "agentls.mcp.trust");
    assert.equal(trust?.["trust"], true);
    assert.match(String(trust["fingerprint"]), /^[0-9a-f]{64}$/);
  });

  await t.test("a resource is found among 10,000, previewed and inserted", async () => {
    await w.openFile("ask.agentls.md");
    await w.command("agentls: Browse MCP Resources…");
    await w.quick("Type words of a name");
    const begun = Date.now();
    await w.type("items item7777");
    await w.row("item7777.json").waitFor();
    const found = Date.now() - begun;
    t.diagnostic(`found within ${found} ms of the first key`);
    await w.shot("servers browse");
    await w.quickButton("Preview", "item7777.json");
    await w.tab("item7777.json").waitFor();
    await w.row("item7777.json").click();
    await w.until("the mention", async () => (await w.text()).includes("@lists:list://items/77/item7777.json"));
    assert.deepEqual(
      listsLog(w)
        .filter((entry) => entry.method === "resources/read")
        .map((entry) => entry.params?.["uri"]),
      ["list://items/77/item7777.json"],
    );
  });

  await t.test("an image shows as one, bytes are named, and a name is no icon", async () => {
    await w.command("agentls: Browse MCP Resources…");
    await w.quick("Type words of a name");
    await w.type("odd");
    await w.row("A green $(error) dot").waitFor();
    await w.quickButton("Preview", "A green $(error) dot");
    await w.tab("dot.png").waitFor();
    await w.until("the image", async () => {
      for (const frame of w.page.frames())
        if (
          (await frame
            .locator("img.scale-to-fit, img.pixelated, img")
            .count()
            .catch(() => 0)) > 0
        )
          return true;
      return false;
    });
    await w.quickButton("Preview", "archive");
    await w.toast("cannot be shown here: application/zip, 22 B").waitFor();
    await w.press("Escape");
  });

  await t.test("a template is filled in with the server's values", async () => {
    await w.openFile("ask.agentls.md");
    await w.command("agentls: Browse MCP Resources…");
    await w.quick("Type words of a name");
    await w.type("weather");
    await w.pick("Weather…");
    await w.quick("city (required)");
    await w.type("be");
    await w.row("Berlin").waitFor();
    await w.shot("servers template");
    await w.pick("Berlin");
    await w.quick("unit (optional)");
    await w.press("Enter");
    await w.until("the mention", async () => (await w.text()).includes("@lists:list://weather/Berlin"));
  });

  await t.test("a prompt asks for its arguments, shows what it says, and runs in the chat", async () => {
    await w.command("agentls: Use MCP Prompt…");
    await w.quick("Which prompt?");
    await w.type("journey");
    await w.pick("Plan a journey");
    await w.quick("city: Where to (required)");
    await w.type("ber");
    await w.row("Bern").waitFor();
    await w.shot("servers prompt");
    await w.pick("Bern");
    await w.quick("month (optional)");
    await w.quickButton("Back");
    await w.quick("city: Where to (required)");
    await w.pick("Bern");
    await w.quick("month (optional)");
    await w.type("May");
    await w.press("Enter");
    await w.quick("Run it, or see first");
    await w.pick("Show its messages");
    await w.tab("lists travel.md").waitFor();
    await w.quick("Run it, or see first");
    await w.pick("Run in the chat");
    const body = await w.until("the request to the model", () => w.world.requests()[0] as unknown);
    assert.match(JSON.stringify(body), /SAY travel to Bern in May/);
  });

  await t.test("servers are stopped and started from their list, which follows", async () => {
    await w.command("agentls: MCP Servers…");
    await w.quick("Which server?");
    await w.quickButton("Stop", "files");
    await w.quickButton("Start", "files");
    await w.row("files").locator(".label-description", { hasText: "tools" }).waitFor();
    await w.press("Escape");
    assert.deepEqual(called(w, "agentls.mcp.disable"), [{ server: "files" }]);
    assert.deepEqual(called(w, "agentls.mcp.enable"), [{ server: "files" }]);
  });

  await t.test("the status bar leads to what can be done", async () => {
    await w.statusItem(/^\s*agentls( \d+)?\s*$/).click();
    await w.row("MCP Servers…").waitFor();
    await w.shot("servers status");
    await w.press("Escape");
  });

  await t.test("nothing of it goes to other hosts", () => {
    // What the page itself answers for webviews has a name under that one.
    const others = w.foreign.filter((url) => !/^https:\/\/[^/]*\.vscode-resource\.vscode-cdn\.net\//.test(url));
    assert.deepEqual(others, []);
  });
});

test("without MCP servers the view says how to add one", async (t) => {
  const w = await workbench(t, { mcp: {} });
  await w.command("agentls: Focus on MCP Servers View");
  await w.page.locator(".welcome-view-content", { hasText: "No MCP server is configured." }).waitFor();
  await w.shot("servers welcome");
  await w.page.locator(".welcome-view-content .monaco-button", { hasText: "Add MCP Server" }).click();
  await w.pick(/For project/);
  await w.tab(".mcp.json").waitFor();
  await w.until("the beginning of the file", () => w.world.read(".mcp.json").includes('"mcpServers": {'));
});
