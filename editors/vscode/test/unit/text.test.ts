import assert from "node:assert/strict";
import test from "node:test";
import { count, isCancelled, label, messageOf, oneLine, plain, visibleJSON } from "../../src/text.js";

test("what is not seen is taken out of what is shown", () => {
  assert.equal(oneLine("a\u202eb\u200bc\ufe0fd\u{e0041}e\u0007 \t\n f\u3164\u2800"), "a" + "bcde f");
  assert.equal(oneLine("x".repeat(400)).length, 300);
  assert.equal(oneLine("𝄞𝄞𝄞", 2), "𝄞…");
});

test("foreign text is neither a link nor an icon", () => {
  assert.equal(plain("see [here](command:evil)"), "see [here] (command:evil)");
  assert.equal(label("$(error) all $(check) done"), "\\$(error) all \\$(check) done");
});

test("nothing stays unseen in JSON, and it says the same", () => {
  const value = { run: "rm\u202e -rf\u200b \u{e0041}", lines: "a\nb\u0085\u2028" };
  const text = visibleJSON(value);
  assert.deepEqual(JSON.parse(text), value);
  assert.match(text, /rm\\u202e -rf\\u200b \\udb40\\udc41/u);
  assert.doesNotMatch(text.replaceAll("\n", ""), /[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\p{Zl}]/u);
});

test("counts have their word", () => {
  assert.deepEqual(
    [count(1, "tool"), count(0, "tool"), count(10000, "resource"), count(2, "reply", "replies")],
    ["1 tool", "0 tools", "10,000 resources", "2 replies"],
  );
});

test("a cancel is no failure", () => {
  assert.equal(isCancelled(Object.assign(new Error("cancelled"), { code: -32800 })), true);
  assert.equal(isCancelled(Object.assign(new Error("x"), { name: "Canceled" })), true);
  for (const other of [new Error("x"), undefined, null, "Canceled", { code: -32800 }])
    assert.equal(isCancelled(other), false);
});

test("whatever is thrown is a sentence", () => {
  for (const odd of [undefined, null, {}, new Error(""), ""]) assert.match(messageOf(odd), /did not say what/);
  assert.equal(messageOf("plain"), "plain");
});
