import assert from "node:assert/strict";
import test from "node:test";
import type { ServerInfo } from "../../src/protocol.js";
import { actionsOf, contextOf, describe, iconOf, needsPerson, tooltipOf } from "../../src/servers/standing.js";

const server = (more: Partial<ServerInfo>): ServerInfo => ({
  name: "s",
  mention: "s",
  status: "ready",
  tools: null,
  resources: null,
  prompts: null,
  trusted: true,
  source: "/home/me/mcp.json",
  fingerprint: "f",
  command: "node",
  ...more,
});
const withoutCommand = (more: Partial<ServerInfo>): ServerInfo => {
  const info = server(more);
  delete info.command;
  return info;
};
const remote = (more: Partial<ServerInfo>) => withoutCommand({ url: "https://x.test/mcp", ...more });
const project = (more: Partial<ServerInfo>) =>
  server({ definition: { command: "node" }, source: "/p/.mcp.json", ...more });

test("what can be done about a server goes by its state and its kind", () => {
  const cases: [ServerInfo, string][] = [
    [server({}), "restart stop logs"],
    [server({ status: "starting" }), "restart stop logs"],
    [server({ status: "restarting" }), "restart stop logs"],
    [server({ status: "failed" }), "start stop logs"],
    [server({ status: "stopped" }), "start stop logs"],
    [server({ status: "disabled" }), "start logs"],
    [project({ status: "untrusted", trusted: false }), "trust stop logs"],
    [project({}), "restart stop logs distrust"],
    [remote({}), "restart stop logs login logout"],
    [remote({ status: "needsLogin" }), "login restart stop logs logout"],
    [withoutCommand({ name: "workspace" }), "logs"],
  ];
  for (const [info, want] of cases) assert.equal(actionsOf(info).join(" "), want, `${info.name} ${info.status}`);
  assert.equal(contextOf(remote({ status: "needsLogin" })), "server canLogin canRestart canStop canLogs canLogout");
});

test("a person is needed where nothing goes on without one", () => {
  const states = [
    "disabled",
    "untrusted",
    "starting",
    "ready",
    "needsLogin",
    "restarting",
    "failed",
    "stopped",
  ] as const;
  assert.deepEqual(
    states.filter((status) => needsPerson(server({ status }))),
    ["untrusted", "needsLogin", "failed"],
  );
  assert.equal(needsPerson(server({ status: "stopped", needs: "the input token" })), true);
  assert.deepEqual(new Set(states.map((status) => iconOf(server({ status })).icon)).size, 7); // starting as restarting
});

test("a few words say what is the matter", () => {
  assert.equal(describe(server({ tools: 2, resources: 10000, prompts: 0 })), "2 tools · 10,000 resources");
  assert.equal(describe(server({ tools: 0 })), "ready");
  assert.equal(describe(server({ status: "failed", error: "exit 3:\n\u202ebad" })), "failed: exit 3: bad");
  assert.equal(describe(server({ status: "stopped", needs: "the input token" })), "needs the input token");
  assert.equal(describe(project({ status: "untrusted" })), "not trusted");
});

test("the tooltip tells all that is known", () => {
  const text = tooltipOf(
    project({
      name: "a b",
      mention: "a-b",
      args: ["x.js", "--flag"],
      env: ["TOKEN"],
      protocol: "2025-11-25",
      tools: 1,
      error: "late",
    }),
  );
  assert.deepEqual(text.split("\n"), [
    "a b: ready",
    "Error: late",
    "Command: node x.js --flag",
    "Environment: TOKEN",
    "From: /p/.mcp.json",
    "Mentioned as: @a-b",
    "MCP: 2025-11-25",
    "1 tool",
  ]);
});
