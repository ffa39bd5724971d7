// The licences of what is in a package and is not ours: npm's packages of the bundle, Go's modules of the binary.
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Names of files that hold a licence's text. */
const licence = /^(licen[cs]e|copying|notice)([.-].*)?$/i;

function textOf(folder, name) {
  const files = readdirSync(folder).filter((file) => licence.test(file) && !/\.go$/.test(file));
  if (files.length === 0)
    throw new Error(`${name} has no licence in ${folder}: look what its terms are before it is shipped`);
  return files
    .sort()
    .map((file) => readFileSync(join(folder, file), "utf8").trim())
    .join("\n\n");
}

/** The packages that esbuild took something from, by out/*.meta.json. */
function bundled() {
  const found = new Map();
  for (const file of readdirSync("out").filter((name) => name.endsWith(".meta.json"))) {
    for (const input of Object.keys(JSON.parse(readFileSync(join("out", file), "utf8")).inputs)) {
      const [, folder] = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(input) ?? [];
      if (!folder || found.has(folder)) continue;
      const { name, version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
      found.set(folder, [`${name} ${version}`, textOf(folder, name)]);
    }
  }
  return [...found.values()];
}

/** The modules that the binary of a platform is made of, and Go itself. */
function linked(env) {
  const format = "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}\t{{.Dir}}{{end}}{{end}}";
  const go = (...args) => execFileSync("go", args, { cwd: "../..", encoding: "utf8", env: { ...process.env, ...env } });
  const modules = new Set(go("list", "-deps", "-f", format, "./cmd/agentls").split("\n").filter(Boolean));
  const root = go("env", "GOROOT").trim();
  const goLicence = [join(root, "LICENSE"), "/usr/share/doc/golang/LICENSE"].find(existsSync);
  return [
    ...(goLicence ? [["Go's standard library", readFileSync(goLicence, "utf8").trim()]] : []),
    ...[...modules].map((line) => line.split("\t")).map(([name, folder]) => [name, textOf(folder, name)]),
  ];
}

/** The text of THIRD_PARTY_NOTICES.txt: each licence once, under the names of all that have it. */
export function notices(env) {
  const byText = new Map();
  for (const [name, text] of [...bundled(), ...linked(env)]) byText.set(text, [...(byText.get(text) ?? []), name]);
  const parts = [...byText]
    .map(([text, names]) => [names.sort().join("\n"), text])
    .sort(([a], [b]) => (a < b ? -1 : 1));
  const line = "-".repeat(80);
  return `This extension and its server contain software of others, under the terms below.\n\n${parts
    .map(([names, text]) => `${line}\n${names}\n${line}\n\n${text}\n`)
    .join("\n")}`;
}
