import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { delimiter, dirname, join, relative } from "node:path";
import { after, test } from "node:test";
import { BinaryError, findBinary, type Places } from "../../src/binary.js";

const dir = mkdtempSync(join(tmpdir(), "agentls-binary-"));
after(() => rmSync(dir, { recursive: true }));

function program(path: string, mode = 0o755): string {
  const file = join(dir, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, "#!/bin/sh\n");
  chmodSync(file, mode);
  return file;
}

const bundled = program("extension/bin/agentls");
const onPath = program("path/agentls");
const set = program("set/agentls");

const places = (p: Partial<Places>): Places => ({
  setting: null,
  extension: join(dir, "none"),
  env: { PATH: join(dir, "empty") },
  platform: "linux",
  ...p,
});
const withPath = { PATH: ["relative", join(dir, "empty"), join(dir, "path")].join(delimiter) };
const extension = join(dir, "extension");

test("the setting comes first, then the bundled one, then PATH", async () => {
  assert.deepEqual(await findBinary(places({ setting: set, extension, env: withPath })), {
    path: set,
    from: "setting",
  });
  assert.deepEqual(await findBinary(places({ extension, env: withPath })), { path: bundled, from: "bundled" });
  assert.deepEqual(await findBinary(places({ setting: "  ", extension })), { path: bundled, from: "bundled" });
  assert.deepEqual(await findBinary(places({ env: withPath })), { path: onPath, from: "PATH" });
  assert.deepEqual(
    await findBinary(places({ env: { Path: withPath.PATH } })),
    { path: onPath, from: "PATH" },
    "as Windows spells it",
  );
});

test("a name in the setting is looked for on PATH, ~ and ${env:…} are expanded", async () => {
  assert.equal((await findBinary(places({ setting: "agentls", env: withPath }))).path, onPath);
  assert.equal((await findBinary(places({ setting: "${env:HERE}/set/agentls", env: { HERE: dir } }))).path, set);
  const fromHome = relative(homedir(), set);
  assert.equal((await findBinary(places({ setting: `~/${fromHome}` }))).path, join(homedir(), fromHome));
});

test("on Windows the program has its ending", async () => {
  const exe = program("win/bin/agentls.exe");
  assert.equal((await findBinary(places({ extension: join(dir, "win"), platform: "win32" }))).path, exe);
});

async function refusal(p: Partial<Places>): Promise<BinaryError> {
  try {
    await findBinary(places(p));
  } catch (error) {
    assert.ok(error instanceof BinaryError);
    return error;
  }
  assert.fail("it was found");
}

test("what is wrong with the setting is said, and nothing else is started in its place", async () => {
  const plain = program("plain/agentls", 0o644);
  for (const [setting, words] of [
    [join(dir, "nowhere"), "there is no such file"],
    [join(set, "below"), "there is no such file"],
    [dir, "that is a folder"],
    [plain, "that file is not executable"],
    ["./agentls", "absolute path"],
    ["agentls-of-mine", "no such program on PATH"],
  ] as const) {
    const error = await refusal({ setting, extension, env: withPath });
    assert.ok(error.message.includes(words), `${setting}: ${error.message}`);
    assert.ok(error.message.includes("agentls.path"));
  }
});

test("nowhere: the message says where to put it", async () => {
  assert.match(
    (await refusal({})).message,
    /neither in the extension nor on PATH\. Install it, or say .*agentls\.path/,
  );
});
