import assert from "node:assert/strict";
import { test } from "node:test";
import type { Found, Preset } from "../../src/protocol.js";
import { addressProblem, keyProblem, keyVariable, setupGroups, variableOf } from "../../src/setuptext.js";

const presets: Preset[] = [
  { provider: "openai", title: "OpenAI", baseURL: "https://api.openai.com/v1", keyVariables: ["OPENAI_API_KEY"] },
  { provider: "azure", title: "Azure OpenAI", keyVariables: ["AZURE_OPENAI_API_KEY", "AZURE_API_KEY"] },
  { provider: "ollama", title: "Ollama", baseURL: "http://127.0.0.1:11434/v1" },
];
const found = (more: Partial<Found>): Found => ({
  provider: "local",
  title: "local",
  baseURL: "http://127.0.0.1:1/v1",
  models: ["a", "b"],
  ...more,
});

test("what was found stands first, what is known and not found after it", () => {
  const groups = setupGroups(
    [found({ inForce: true, model: "a" }), found({ provider: "openai", title: "OpenAI", error: "refuses the key" })],
    presets,
    ["OPENAI_API_KEY"],
  );
  assert.deepEqual(
    groups.map((g) => [g.heading, ...g.rows.map((r) => r.label)]),
    [
      ["Found", "$(check) local", "$(warning) OpenAI"],
      ["Services, with a key of yours", "Azure OpenAI"],
      ["Programs on this machine", "Ollama"],
      ["More", "$(plug) Another endpoint…", "$(key) Keys kept here…"],
    ],
  );
  const [local, openai] = groups[0]!.rows;
  assert.equal(local?.description, "a in force · 2 models");
  assert.equal(local.keyVariable, undefined);
  assert.equal(openai?.description, "does not tell its models · key kept here");
  assert.equal(openai.detail, "refuses the key");
  assert.equal(openai.keyVariable, "OPENAI_API_KEY");
  assert.match(groups[1]!.rows[0]!.description!, /your own resource/);
  assert.match(groups[2]!.rows[0]!.description!, /11434\/v1 · not running/);
});

test("without kept keys there is nothing to forget, and nothing found is no heading", () => {
  const groups = setupGroups([], presets, []);
  assert.deepEqual(
    groups.map((g) => g.heading),
    ["Services, with a key of yours", "Programs on this machine", "More"],
  );
  assert.equal(groups.at(-1)?.rows.length, 1);
});

test("the key of a provider is the one that it was found with, else its usual one", () => {
  assert.equal(keyVariable(found({ provider: "azure", keyVariable: "AZURE_API_KEY" }), presets), "AZURE_API_KEY");
  assert.equal(keyVariable(found({ provider: "azure" }), presets), "AZURE_OPENAI_API_KEY");
  assert.equal(keyVariable(found({ provider: "ollama" }), presets), undefined);
});

test("an unknown endpoint's key has a variable of its host", () => {
  assert.equal(variableOf("https://llm.example-corp.com:8443/v1"), "AGENTLS_LLM_EXAMPLE_CORP_COM_API_KEY");
  assert.equal(variableOf("http://[::1]:8080/v1"), "AGENTLS_1_API_KEY");
});

test("addresses and keys that cannot be are refused with what to do", () => {
  assert.equal(addressProblem(" https://a.example/v1 "), undefined);
  assert.match(addressProblem("a.example/v1")!, /whole address/);
  assert.match(addressProblem("ftp://a.example")!, /https:\/\//);
  assert.match(addressProblem("https://me:secret@a.example/v1")!, /Leave name and password out/);
  assert.equal(keyProblem(" sk-123 "), undefined);
  assert.match(keyProblem(" ")!, /Paste/);
  assert.match(keyProblem("sk 1")!, /no spaces/);
  assert.match(keyProblem("sk-é")!, /plain characters/);
});
