// What README.md says of settings and commands is what package.json contributes.
import assert from "node:assert/strict";
import { existsSync, readFileSync, statSync } from "node:fs";
import { test } from "node:test";
// @ts-expect-error a script without types
import { filled as untyped } from "../../scripts/tables.mjs";

const filled = untyped as (readme: string, manifest: unknown) => string;
const readme = readFileSync("README.md", "utf8");
const manifest = JSON.parse(readFileSync("package.json", "utf8")) as { icon: string; version: string };

test("the README has the settings and commands of package.json", () => {
  assert.equal(readme, filled(readme, manifest), "run node scripts/readme.mjs");
  assert.throws(() => filled("# nothing", manifest), /has no place for the settings/);
});

test("the README's pictures are in the package, and small", () => {
  for (const [, picture] of readme.matchAll(/(?:!\[[^\]]*\]\(|srcset="|src=")(images\/[^)"]+)/g)) {
    assert.ok(existsSync(picture!), `${picture} is missing`);
    assert.ok(statSync(picture!).size <= 150_000, `${picture} has ${statSync(picture!).size} bytes; make pictures`);
  }
});

test("the licence is the repository's, the icon is there", () => {
  assert.equal(readFileSync("LICENSE", "utf8"), readFileSync("../../LICENSE", "utf8"));
  assert.ok(existsSync(manifest.icon));
});
