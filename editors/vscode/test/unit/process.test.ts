import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { ServerProcess } from "../../src/process.js";

const dir = mkdtempSync(join(tmpdir(), "agentls-process-"));
after(() => rmSync(dir, { recursive: true }));

function file(name: string, text: string | Buffer, mode = 0o755): string {
  const path = join(dir, name);
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
}

const options = { cwd: dir, env: { PATH: process.env["PATH"] } };

test("a process that ends by itself says how", async () => {
  const child = await ServerProcess.start(file("three", "#!/bin/sh\nexit 3\n"), options);
  assert.equal(await child.ended, "exit code 3");
  assert.equal(await child.endsWithin(0), true);
  await child.end();
});

test("a process ends with its stdin, and is killed where it does not", async () => {
  const polite = await ServerProcess.start(file("polite", "#!/bin/sh\ncat >/dev/null\n"), options);
  await polite.end(60_000);
  assert.equal(await polite.ended, "exit code 0");
  const stubborn = await ServerProcess.start(file("stubborn", "#!/bin/sh\nexec <&-; exec sleep 600\n"), options);
  await stubborn.end(50);
  assert.equal(await stubborn.ended, "SIGKILL");
});

test("what cannot be started is a sentence that names it", async () => {
  const foreign = file(
    "foreign",
    Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0xff, 0]),
  );
  for (const [path, words] of [
    [foreign, /is no program of this system/],
    [file("text", "echo hello\n"), /is no program of this system/],
    [join(dir, "gone"), /is missing/],
    [file("plain", "#!/bin/sh\n", 0o644), /is not executable\.$/],
    [file("lost", "#!/nowhere/sh\n"), /names in its first line/],
  ] as const) {
    await assert.rejects(
      ServerProcess.start(path, options),
      (error: Error) => error.message.includes(path) && words.test(error.message),
    );
  }
});
