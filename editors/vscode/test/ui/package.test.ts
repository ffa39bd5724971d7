// The package as a person gets it: taken apart, installed into VS Code, and at work where no other agentls is.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { workbench } from "../driver/workbench";
import { extensionFolder, required } from "../driver/world";
import { readZip, type ZipEntry } from "../driver/zip";

/** Bytes of the bundle, all files together. */
const bundleMax = 550_000;
/** From activate() to client.start(), in ms: ten times the budget, for a machine that does something else. */
const startMax = 500;

const folder = join(required("AGENTLS_SCRATCH"), "package");
let file: string;
let entries: Map<string, ZipEntry>;

before(() => {
  const target = `linux-${process.arch}`;
  execFileSync(process.execPath, [join(extensionFolder, "scripts", "vsix.mjs"), "--out", folder, target], {
    stdio: ["ignore", "inherit", "inherit"],
  });
  const [name] = readdirSync(folder).filter((each) => each.endsWith(".vsix"));
  assert.match(name!, new RegExp(`^agentls-${target}-\\d+\\.\\d+\\.\\d+\\.vsix$`));
  file = join(folder, name!);
  entries = new Map(readZip(file).map((entry) => [entry.name.replace(/^extension\//, ""), entry]));
});

const text = (name: string): string => {
  const entry = entries.get(name);
  assert.ok(entry, `${name} is not in the package: ${[...entries.keys()].join(", ")}`);
  return entry.content().toString("utf8");
};

test("the package holds what runs and what must be said, and nothing else", () => {
  const more = [...entries.keys()].filter((name) =>
    /(^|\/)(src|test|scripts|node_modules|out)\/|\.(map|ts|mjs)$/.test(name),
  );
  assert.deepEqual(more, []);
  assert.match(text("LICENSE.txt"), /^MIT License/);
  for (const other of ["vscode-languageclient", "marked", "github.com/mark3labs/mcp-go", "go.lsp.dev/protocol"])
    assert.ok(text("THIRD_PARTY_NOTICES.txt").includes(other), other);
  const manifest = JSON.parse(text("package.json")) as Record<string, unknown>;
  assert.equal(manifest["devDependencies"], undefined);
  for (const name of [...text("package.json").matchAll(/"\.?\/?((?:images|schemas|syntaxes|walkthrough)\/[^"]+)"/g)])
    assert.ok(entries.has(name[1]!), `${name[1]} is named by package.json and not in the package`);
  for (const [, picture] of text("readme.md").matchAll(/(?:\]\(|src(?:set)?=")(images\/[^)"]+)/g))
    assert.ok(entries.has(picture!), picture);
});

test("the bundle is small", () => {
  const sizes = [...entries.values()]
    .filter(({ name }) => name.startsWith("extension/dist/"))
    .map(({ name, size }) => [name, size] as const);
  const all = sizes.reduce((sum, [, size]) => sum + size, 0);
  assert.ok(
    all <= bundleMax,
    `${all} bytes: ${sizes.map(([name, size]) => `${name} ${size}`).join(", ")}; see what is big in out/*.meta.json`,
  );
});

test("the binary runs", () => {
  const binary = entries.get("bin/agentls");
  assert.equal(binary?.mode.toString(8), "755");
  const out = join(folder, "agentls");
  writeFileSync(out, binary.content());
  chmodSync(out, 0o755);
  assert.match(execFileSync(out, ["version"], { encoding: "utf8" }), /agentls/);
});

test("installed, it answers where no agentls is on PATH", async (t) => {
  assert.notEqual(
    spawnSync("sh", ["-c", "command -v agentls"]).status,
    0,
    "an agentls is on PATH: this test proves nothing",
  );
  const extensions = join(folder, "extensions");
  mkdirSync(extensions, { recursive: true });
  const data = [
    "--accept-server-license-terms",
    "--server-data-dir",
    join(folder, "data"),
    "--user-data-dir",
    join(folder, "data"),
  ];
  const main = join(required("VSCODE_FOLDER"), "out", "server-main.js");
  const installed = spawnSync(
    required("VSCODE_NODE"),
    [main, ...data, "--extensions-dir", extensions, "--install-extension", file],
    { encoding: "utf8" },
  );
  assert.match(installed.stdout, /successfully installed/, installed.stdout + installed.stderr);
  process.env["AGENTLS_EXTENSIONS"] = extensions;
  const w = await workbench(t, { settings: { "agentls.path": undefined }, connected: false });
  const log = await w.until("the clock in the log", () =>
    /activate\(\) to client\.start\(\): ([\d.]+) ms/.exec(Object.values(w.vscode.extensionLogs()).join("\n")),
  );
  await w.command("agentls: Ask…");
  await w.input("Ask", "SAY from the package");
  await w.until("the prompt at the provider", () => JSON.stringify(w.world.requests()).includes("from the package"));
  assert.match(Object.values(w.vscode.extensionLogs()).join("\n"), /Started \S+package\/extensions\/\S+ \(bundled\)/);
  t.diagnostic(log[0]);
  assert.ok(Number(log[1]) <= startMax, log[0]);
});
