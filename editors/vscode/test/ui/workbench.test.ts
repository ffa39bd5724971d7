import assert from "node:assert/strict";
import { test } from "node:test";
import { workbench } from "../driver/workbench";

test("the extension lives in the workbench", async (t) => {
  const w = await workbench(t, { files: { "a.agentls.md": "## You\n\n" } });
  await t.test("its commands are in the palette", async () => {
    const titles = await w.commands("agentls: Restart");
    assert.ok(titles.includes("agentls: Restart Server"), titles.join("\n"));
  });
  await t.test("what MCP servers offer is completed while one types", async () => {
    await w.openFile("a.agentls.md");
    await w.type("@test");
    await w.until("the popup", async () => (await w.suggestions()).includes("world.md"));
  });
  await t.test("the page asks nobody else", () => assert.deepEqual(w.foreign, []));
});
