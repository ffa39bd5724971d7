import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

/** Relative to the extension, where the tests run. */
const read = (path: string) => readFileSync(path, "utf8");

test("the schema of the configuration is the server's own: npm run schemas", () => {
  assert.equal(read("schemas/config.schema.json"), read("../../agent/config/config.schema.json"));
});

test("each file of ours is checked by a schema that is there, and may hold comments", () => {
  const { contributes } = JSON.parse(read("package.json")) as {
    contributes: {
      jsonValidation: { fileMatch: string[]; url: string }[];
      languages: { id: string; filenamePatterns?: string[] }[];
    };
  };
  const matched = contributes.jsonValidation.flatMap((v) => {
    JSON.parse(read(v.url));
    return v.fileMatch;
  });
  const jsonc = contributes.languages.find((l) => l.id === "jsonc")?.filenamePatterns ?? [];
  for (const ours of ["**/agentls/config.json", "**/agentls/mcp.json", "**/.agentls/config.json"]) {
    assert.ok(matched.includes(ours) && jsonc.includes(ours), ours);
  }
  assert.ok(matched.includes("**/.mcp.json"));
});

test("the schema of .mcp.json leads to a part of the other that is there", () => {
  const { properties } = JSON.parse(read("schemas/mcp.schema.json")) as {
    properties: { mcpServers: { $ref: string } };
  };
  assert.equal(properties.mcpServers.$ref, "./config.schema.json#/properties/mcpServers");
  const config = JSON.parse(read("schemas/config.schema.json")) as { properties: Record<string, unknown> };
  assert.ok(config.properties["mcpServers"]);
});
