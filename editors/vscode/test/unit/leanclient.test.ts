import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

const root = join(__dirname, "../../..");

// What the server announces has its feature in the bundle: leanclient.mjs leaves the others out.
test("no feature is left out that the server announces", () => {
  const go = readFileSync(join(root, "../../lsp/initialize.go"), "utf8");
  const announced = [...go.matchAll(/^\t+(\w+)Provider:/gmu)].map(
    (m) => m[1]!.charAt(0).toLowerCase() + m[1]!.slice(1),
  );
  assert.ok(announced.includes("completion"), "initialize.go is read");
  const lean = readFileSync(join(root, "leanclient.mjs"), "utf8");
  const absent = [...lean.slice(0, lean.indexOf("];")).matchAll(/^ {2}"(\w+)",/gmu)].map((m) => m[1]!);
  assert.ok(absent.length > 10, "leanclient.mjs is read");
  const left = announced.filter((a) =>
    absent.some((b) => a === b || a === `${b}s` || a.toLowerCase().includes(b.toLowerCase())),
  );
  assert.deepEqual(left, []);
});
