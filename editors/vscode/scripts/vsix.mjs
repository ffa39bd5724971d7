// node scripts/vsix.mjs [--out FOLDER] [TARGET…]: packages for the platforms, each with its binary inside; none named: all.
//
// The version is the tag's, as far as VS Code takes it: x.y.z. What is ahead of a tag is packed under the tag's own number
// and says in `agentls version` which commit it is. The same commit, Go, Node and esbuild give the same bytes: times in the
// zip are the commit's (SOURCE_DATE_EPOCH), paths are trimmed out of the binary.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { notices } from "./notices.mjs";

const platforms = {
  "linux-x64": { GOOS: "linux", GOARCH: "amd64" },
  "linux-arm64": { GOOS: "linux", GOARCH: "arm64" },
  "darwin-x64": { GOOS: "darwin", GOARCH: "amd64" },
  "darwin-arm64": { GOOS: "darwin", GOARCH: "arm64" },
  "win32-x64": { GOOS: "windows", GOARCH: "amd64" },
  "win32-arm64": { GOOS: "windows", GOARCH: "arm64" },
};

process.chdir(new URL("..", import.meta.url).pathname);
const root = resolve("../..");
const [out, targets] = read(process.argv.slice(2));
const git = (...args) => execFileSync("git", ["-C", root, ...args], { encoding: "utf8" }).trim();
const described = git("describe", "--tags", "--always", "--dirty");
const manifest = JSON.parse(readFileSync("package.json", "utf8"));
const version = /^v?(\d+\.\d+\.\d+)/.exec(described)?.[1] ?? manifest.version;
const epoch = git("log", "-1", "--format=%ct");

execFileSync(process.execPath, ["esbuild.mjs", "--production"], { stdio: "inherit" });
mkdirSync(out, { recursive: true });
for (const target of targets) pack(target, platforms[target]);

function read(args) {
  const at = args.indexOf("--out");
  const folder = resolve(at < 0 ? join(root, "dist") : (args.splice(at, 2)[1] ?? fail("--out wants a folder")));
  const wrong = args.filter((name) => !(name in platforms));
  if (wrong.length > 0) fail(`${wrong.join(", ")}: no such platform; there are ${Object.keys(platforms).join(", ")}`);
  return [folder, args.length > 0 ? args : Object.keys(platforms)];
}

function fail(text) {
  console.error(`vsix: ${text}`);
  process.exit(2);
}

// In a folder of its own, so that neither another platform's binary nor anything of the working tree goes along.
function pack(target, platform) {
  const stage = mkdtempSync(join(tmpdir(), "agentls-vsix-"));
  try {
    for (const name of readFileSync(".vscodeignore", "utf8").matchAll(/^!([^/\n]+)/gm)) {
      if (existsSync(name[1])) cpSync(name[1], join(stage, name[1]), { recursive: true });
    }
    cpSync(".vscodeignore", join(stage, ".vscodeignore"));
    rmSync(join(stage, "bin"), { recursive: true, force: true });
    const shipped = { ...manifest, version };
    for (const ours of ["devDependencies", "private", "scripts"]) delete shipped[ours];
    writeFileSync(join(stage, "package.json"), JSON.stringify(shipped, undefined, 2));
    const env = { ...platform, CGO_ENABLED: "0" };
    const binary = join(stage, "bin", platform.GOOS === "windows" ? "agentls.exe" : "agentls");
    const flags = `-s -w -X main.version=${described}`;
    execFileSync("go", ["build", "-trimpath", "-ldflags", flags, "-o", binary, "./cmd/agentls"], {
      cwd: root,
      env: { ...process.env, ...env },
      stdio: "inherit",
    });
    chmodSync(binary, 0o755);
    writeFileSync(join(stage, "THIRD_PARTY_NOTICES.txt"), notices(env));
    const file = join(out, `agentls-${target}-${version}.vsix`);
    // Pictures of the README are shown from the package itself, without a host that has the repository.
    const vsce = [
      "package",
      "--target",
      target,
      "--no-dependencies",
      "--no-rewrite-relative-links",
      "--allow-missing-repository",
      "--out",
      file,
    ];
    execFileSync(resolve("node_modules/.bin/vsce"), vsce, {
      cwd: stage,
      env: { ...process.env, SOURCE_DATE_EPOCH: epoch },
      stdio: ["ignore", "ignore", "inherit"],
    });
    console.log(`${createHash("sha256").update(readFileSync(file)).digest("hex")}  ${file}`);
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}
