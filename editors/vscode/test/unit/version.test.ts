import assert from "node:assert/strict";
import { test } from "node:test";
import { neededFeatures, outdated, readServed, unusable } from "../../src/version.js";

const result = (version: string, features: unknown = neededFeatures, name = "agentls") => ({
  serverInfo: { name, version },
  capabilities: { experimental: { agentls: { version, features } } },
});

test("a server of this version or a newer one is told of with no word", () => {
  for (const version of ["0.8.0", "0.8.3", "0.9.0", "1.0.0", "v0.8.0"]) {
    assert.equal(outdated("/a", readServed(result(version)), "0.8.0"), undefined, version);
  }
});

test("a build that is no release may be newer than its version says, and is told of with no word", () => {
  for (const version of ["0.1.0-dev", "v0.7.0-12-gcc851db", "v0.7.0-dirty", "cc851db", "(devel)"]) {
    assert.equal(outdated("/a", readServed(result(version)), "0.8.0"), undefined, version);
  }
});

test("an older server is named, with what to do", () => {
  const text = outdated("/bin/agentls", readServed(result("0.7.9")), "0.8.0");
  assert.match(text ?? "", /^\/bin\/agentls is agentls 0\.7\.9, older than the extension \(0\.8\.0\).* Update it\.$/);
});

test("a server that lacks what the extension is built on is named with that", () => {
  const text = outdated("/a", readServed(result("abc", ["runEvents", 7])), "0.8.0");
  assert.match(text ?? "", /lacks approvals, diagnostics, save/);
});

test("another language server is no agentls, whatever it answers", () => {
  assert.match(unusable("/a", readServed(result("1", [], "gopls"))) ?? "", /is not agentls but gopls/);
  for (const odd of [
    null,
    undefined,
    3,
    { serverInfo: "x", capabilities: [] },
    { capabilities: { experimental: null } },
  ]) {
    assert.equal(unusable("/a", readServed(odd)), "/a is not agentls.");
  }
  assert.equal(unusable("/a", readServed(result("1"))), undefined);
});
