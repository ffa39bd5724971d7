// The extension-host tests (driver/host.ts), each file as a test.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { hostTests } from "./driver/host";
import { extensionFolder } from "./driver/world";

const wanted = new RegExp(process.env["AGENTLS_TEST_FILES"] ?? "");
for (const file of readdirSync(join(extensionFolder, "test", "host")).sort()) {
  const [, name] = /^(.*)\.test\.ts$/.exec(file) ?? [];
  if (name && wanted.test(`host/${name}`)) test(`host/${name}`, (t) => hostTests(t, name));
}
