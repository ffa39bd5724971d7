import assert from "node:assert/strict";
import test from "node:test";
import type { ServerInfo } from "../../src/protocol.js";
import { listsOf, lookOf, type Node } from "../../src/servers/nodes.js";

const info: ServerInfo = {
  name: "a/b",
  mention: "a-b",
  status: "ready",
  tools: 2,
  resources: 1200,
  prompts: 0,
  trusted: true,
  source: "mcp.json",
  fingerprint: "f",
  command: "node",
};

test("a server unfolds into the lists that hold something", () => {
  assert.equal(lookOf({ kind: "server", info }).expands, true);
  assert.deepEqual(
    listsOf(info).map((node) => [lookOf(node).label, lookOf(node).description]),
    [
      ["Tools", "2"],
      ["Resources", "1,200"],
    ],
  );
  const empty = { ...info, tools: null, resources: 0 };
  assert.deepEqual(listsOf(empty), []);
  assert.equal(lookOf({ kind: "server", info: empty }).expands, false);
});

test("each node has an id of its own, whatever it is called", () => {
  const resource = (uri: string) => ({ uri, name: "n", stale: false, mention: "@m" });
  const nodes: Node[] = [
    { kind: "server", info },
    { kind: "list", list: "tools", server: "a/b", count: 1 },
    { kind: "list", list: "tools", server: "a", count: 1 },
    { kind: "resource", server: "a", resource: resource("x://b/tools") },
    { kind: "resource", server: "a/b", resource: resource("x://tools") },
    { kind: "template", server: "a", template: { uriTemplate: "x://b/tools", name: "n", variables: [] } },
    { kind: "tool", server: "a", tool: { name: "more", description: "", schema: {} } },
    { kind: "more", list: "tools", server: "a", shown: 1, total: 2 },
    { kind: "prompt", server: "a", prompt: { name: "more" } },
    { kind: "note", server: "a", id: "tools", text: "t" },
  ];
  const ids = nodes.map((node) => lookOf(node).id);
  assert.equal(new Set(ids).size, nodes.length);
  assert.equal(lookOf({ kind: "server", info: { ...info, status: "failed" } }).id, ids[0], "a state is no other node");
});

test("names and descriptions are shown as one line without what is unseen", () => {
  const look = lookOf({
    kind: "resource",
    server: "a",
    resource: {
      uri: "x://u\u202e",
      name: "na\nme",
      title: "Ti\u200btle",
      description: "De\ttail",
      stale: true,
      mention: "@m",
    },
  });
  assert.equal(look.label, "Title");
  assert.equal(look.description, "changed · x://u");
  assert.equal(look.tooltip, "Title\nna me\nx://u\nDe tail\nIt changed since it was last read.");
  const prompt = lookOf({
    kind: "prompt",
    server: "a",
    prompt: { name: "p", arguments: [{ name: "city", required: true }, { name: "month" }] },
  });
  assert.deepEqual([prompt.label, prompt.description], ["p", "city, month?"]);
});
