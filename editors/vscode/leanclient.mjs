// An esbuild plugin that leaves out of vscode-languageclient what serves nothing here: features that the server never
// announces, the check of VS Code's version (the manifest's `engines` says it), and one copy of TypeScript's helpers in
// each file. It halves the bundle. A unit test holds the list against what the server announces.
import { readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

/** Modules of lib/common whose exports are features (and nothing else that the client uses). */
export const absent = [
  "callHierarchy",
  "colorProvider",
  "declaration",
  "definition",
  "diagnostic", // the pull model
  "documentHighlight",
  "formatting",
  "implementation",
  "inlayHint",
  "inlineCompletion",
  "inlineValue",
  "linkedEditingRange",
  "notebook",
  "reference",
  "rename",
  "selectionRange",
  "signatureHelp",
  "textDocumentContent",
  "typeDefinition",
  "typeHierarchy",
  "workspaceSymbol",
];

const absentFeature = `
class Absent {
  static CellScheme = "vscode-notebook-cell";
  getState() { return { kind: "static" }; }
  fillClientCapabilities() {}
  initialize() {}
  clear() {}
}
module.exports = new Proxy({}, { get: (_, key) => (key === "__esModule" ? true : Absent) });
`;

// TypeScript's own, for modules that esbuild bundles: an import of a CommonJS module is that module.
const helpers = `
exports.__importStar = (module) => module;
exports.__importDefault = (module) => (module.__esModule ? module : { default: module });
exports.__exportStar = (from, to) => {
  for (const key of Object.keys(from)) {
    if (key === "default" || Object.hasOwn(to, key)) continue;
    Object.defineProperty(to, key, { enumerable: true, get: () => from[key] });
  }
};
`;

const preamble =
  /^var __(createBinding|setModuleDefault|importDefault|importStar|exportStar) = \(this && this\.__\1\) \|\| (?:[^\n]*\n(?:[ }][^\n]*\n)*)/gm;

// The server watches operations on all files, so no other glob has to match (lsp/filenews.go; the unit test holds it).
const everyFile = `
exports.Minimatch = class {
  constructor(glob) { if (glob !== "**/*") throw new Error("the bundle has no matcher for the glob " + glob); }
  makeRe() { return /^/; }
  match() { return true; }
};
`;

const libraries =
  /node_modules[/\\]vscode-(?:[^/\\]+[/\\]lib[/\\](?:common|node)|languageserver-types[/\\]lib[/\\]esm)[/\\].*\.js$/;
const namespace =
  /^(?:export )?var (\w+);\n\(function \(\1\) \{\n[^]*?^\}\)\(\1 \|\| \((?:exports\.\1 = )?\1 = \{\}\)\);\n/gm;
const comment = /\/\*[^]*?\*\/|^\s*\/\/.*$/gm;
const nothing = /^(?:exports\.\w+ = )+void 0;$/gm;
const reexport = /^Object\.defineProperty\(exports, "(\w+)", .*$/gm;

/** All that is named by what is bundled: the rest of LSP's types, requests and re-exports is left out. */
async function named() {
  const folder = (name) => new URL(name, import.meta.url).pathname;
  const scripts = (name) =>
    readdirSync(folder(name), { recursive: true })
      .filter((file) => /\.[jt]s$/.test(file) && !absent.some((feature) => file === `${feature}.js`))
      .map((file) => join(folder(name), file));
  const modules = (name) => scripts(`node_modules/vscode-${name}`);
  const blocks = new Map();
  const waiting = [];
  const libraries = ["languageserver-protocol", "jsonrpc", "languageclient"].flatMap((name) =>
    ["common", "node"].flatMap((part) => modules(`${name}/lib/${part}`)),
  );
  for (const file of [...libraries, ...modules("languageserver-types/lib/esm"), ...scripts("src")].filter(
    (file) => !file.endsWith(".d.ts"),
  )) {
    const text = (await readFile(file, "utf8")).replace(comment, "").replace(nothing, "").replace(reexport, "");
    waiting.push(
      text.replace(namespace, (block, name) => {
        blocks.set(name, [...(blocks.get(name) ?? []), block]);
        return "";
      }),
    );
  }
  const names = new Set();
  for (let text = waiting.pop(); text !== undefined; text = waiting.pop()) {
    for (const word of text.match(/\w+/g) ?? []) {
      if (names.has(word)) continue;
      names.add(word);
      waiting.push(...(blocks.get(word) ?? []));
    }
  }
  if ([...blocks.keys()].every((name) => names.has(name)))
    throw new Error("nothing of the protocol is left out: its files have another form, mend leanclient.mjs");
  return names;
}

/** @type {import("esbuild").Plugin} */
export const leanClient = {
  name: "lean-client",
  async setup(build) {
    const names = await named();
    const unlessNamed = (text, name) => (names.has(name) ? text : "");
    const features = new RegExp(`vscode-languageclient[/\\\\]lib[/\\\\]common[/\\\\](${absent.join("|")})\\.js$`);
    build.onLoad({ filter: features }, () => ({ contents: absentFeature, loader: "js" }));
    build.onResolve({ filter: /^semver\/functions\/(parse|satisfies)$/ }, ({ path }) => ({ path, namespace: "lean" }));
    build.onLoad({ filter: /^semver/, namespace: "lean" }, () => ({
      contents: "module.exports = () => ({ prerelease: [] });",
      loader: "js",
    }));
    build.onResolve({ filter: /^minimatch$/ }, ({ path }) => ({ path, namespace: "lean" }));
    build.onLoad({ filter: /^minimatch$/, namespace: "lean" }, () => ({ contents: everyFile, loader: "js" }));
    build.onResolve({ filter: /^lean:helpers$/ }, ({ path }) => ({ path, namespace: "lean" }));
    build.onLoad({ filter: /helpers/, namespace: "lean" }, () => ({ contents: helpers, loader: "js" }));
    build.onLoad({ filter: libraries }, async ({ path }) => {
      const text = await readFile(path, "utf8");
      const lean = text.replace(preamble, "").replace(namespace, unlessNamed).replace(reexport, unlessNamed);
      if (lean === text || path.includes("esm")) return { contents: lean, loader: "js" };
      if (/^var __(import|export|createBinding)/m.test(lean))
        throw new Error(`${path}: a helper of another form: mend leanclient.mjs`);
      return {
        contents: `const { __importDefault, __importStar, __exportStar } = require("lean:helpers");\n${lean}`,
        loader: "js",
      };
    });
  },
};
