// Every view in light and dark, as a person meets it. The pictures are in .deps/screens/vscode; with AGENTLS_PICTURES
// those that README.md shows are also kept in images (`make pictures`).
import { copyFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { workbench } from "../driver/workbench";
import { extensionFolder } from "../driver/world";

const source = `package main

import "strings"

// parse splits a line into its fields.
func parse(line string) []string {
\treturn strings.Fields(line)
}

func main() {}
`;

const testFile = `package main

import (
\t"slices"
\t"testing"
)

func TestParse(t *testing.T) {
\tif got := parse(" a  b "); !slices.Equal(got, []string{"a", "b"}) {
\t\tt.Errorf("%q", got)
\t}
}
`;

const call = (name: string, args: unknown): object => ({
  tool_calls: [{ index: 0, id: name, type: "function", function: { name, arguments: JSON.stringify(args) } }],
});

/** What the model says, one answer after the other. */
const answers: object[][] = [
  [{ content: "I look at the code first." }, call("read_file", { path: "main.go" })],
  [{ content: "`parse` has no test. This adds one:" }, call("write_file", { path: "main_test.go", content: testFile })],
  [
    { content: "`parse` now has a test:\n\n" },
    { content: "* fields are split at **any** white space\n* none before the first, none after the last\n\n" },
    { content: "```sh\ngo test ./...\n```\n" },
  ],
];

/** A provider that says them. */
async function model(): Promise<{ baseURL: string; close(): void }> {
  let next = 0;
  const server = createServer((request, response) => {
    request.resume().on("end", () => {
      if (request.method !== "POST") return void response.end('{"data":[{"id":"test"}]}');
      response.writeHead(200, { "content-type": "text/event-stream" });
      const deltas = answers[next++ % answers.length]!;
      const reason = deltas.some((delta) => "tool_calls" in delta) ? "tool_calls" : "stop";
      const chunk = (delta: object, finish?: string): string =>
        `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish ?? null }] })}\n\n`;
      const usage = { prompt_tokens: 1840, completion_tokens: 212, total_tokens: 2052 };
      response.end(
        deltas.map((delta) => chunk(delta)).join("") +
          chunk({}, reason) +
          `data: ${JSON.stringify({ choices: [], usage })}\n\ndata: [DONE]\n\n`,
      );
    });
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return {
    baseURL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    close: () => void server.close(),
  };
}

for (const kind of ["light", "dark"] as const) {
  test(`pictures, ${kind}`, async (t) => {
    const provider = await model();
    t.after(() => provider.close());
    const w = await workbench(t, {
      provider: false,
      config: { provider: "test", providers: { test: { baseURL: provider.baseURL, apiKey: "none", model: "test" } } },
      files: { "main.go": source, "a.agentls.md": "## You\n\n" },
      settings: { "workbench.colorTheme": kind === "light" ? "Default Light Modern" : "Default Dark Modern" },
    });
    const keep = async (name: string): Promise<void> => {
      const path = await w.shot(`${name}-${kind}`);
      if (process.env["AGENTLS_PICTURES"]) copyFileSync(path, join(extensionFolder, "images", `${name}-${kind}.png`));
    };
    await w.openFile("main.go");
    await w.command("agentls: Open Chat");
    const panel = w.panel();
    await panel.getByRole("combobox", { name: "Prompt" }).click();
    await w.type("Which function of main.go has no test? Add one.");
    await w.press("Enter");
    const yes = panel.getByRole("button", { name: "Allow once" });
    await yes.waitFor();
    // A card that has just moved takes no click: it could be meant for something else.
    await w.until("the card is at rest", () =>
      yes.evaluate((e) => e.ariaDisabled !== "true" && !e.matches(":disabled")),
    );
    await keep("question");
    await w.until("the yes", async () => {
      if (await yes.isVisible()) await yes.click();
      return !(await yes.isVisible());
    });
    await panel.locator("p", { hasText: "now has a test" }).waitFor();
    await keep("chat");
    await w.openFile("a.agentls.md");
    await w.type("What changed lately? @test");
    await w.until("the popup", async () => (await w.suggestions()).some((label) => label.includes("world.md")));
    await keep("mention");
    await w.press("Escape");
    await w.command("agentls: MCP Servers…");
    await w.quickRows().first().waitFor();
    await w.shot(`servers-${kind}`);
  });
}
