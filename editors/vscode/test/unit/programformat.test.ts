import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { isProgramOf } from "../../src/programformat.js";

const dir = mkdtempSync(join(tmpdir(), "agentls-format-"));
after(() => rmSync(dir, { recursive: true }));

const elf = (machine: number) =>
  Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, machine, 0]);

test("a program is known by its first bytes", async () => {
  for (const [name, bytes, systems] of [
    ["elf-x64", elf(0x3e), ["linux x64"]],
    ["elf-arm64", elf(0xb7), ["linux arm64"]],
    ["script", Buffer.from("#!/bin/sh\n"), ["linux x64", "linux arm64", "darwin arm64"]],
    ["macho", Buffer.from("cffaedfe0c000001", "hex"), ["darwin arm64"]],
    ["universal", Buffer.from("cafebabe00000002", "hex"), ["darwin arm64"]],
    ["pe", Buffer.from("MZ\x90\0", "latin1"), ["win32 x64"]],
    ["text", Buffer.from("hello"), []],
    ["empty", Buffer.alloc(0), []],
    ["cut", elf(0x3e).subarray(0, 6), []],
  ] as const) {
    const path = join(dir, name);
    writeFileSync(path, bytes);
    for (const system of ["linux x64", "linux arm64", "darwin arm64", "win32 x64"]) {
      const [platform, arch] = system.split(" ") as [NodeJS.Platform, string];
      const expected = (systems as readonly string[]).includes(system);
      assert.equal(await isProgramOf(platform, arch, path), expected, `${name} on ${system}`);
    }
  }
});
