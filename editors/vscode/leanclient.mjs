// An esbuild plugin that leaves out of vscode-languageclient what serves nothing here: features that the server never
// announces, the check of VS Code's version (the manifest's `engines` says it), and one copy of TypeScript's helpers in
// each file. It halves the bundle. A unit test holds the list against what the server announces.
import { readFile } from "node:fs/promises";

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

/** @type {import("esbuild").Plugin} */
export const leanClient = {
  name: "lean-client",
  setup(build) {
    const features = new RegExp(`vscode-languageclient[/\\\\]lib[/\\\\]common[/\\\\](${absent.join("|")})\\.js$`);
    build.onLoad({ filter: features }, () => ({ contents: absentFeature, loader: "js" }));
    build.onResolve({ filter: /^semver\/functions\/(parse|satisfies)$/ }, ({ path }) => ({ path, namespace: "lean" }));
    build.onLoad({ filter: /^semver/, namespace: "lean" }, () => ({
      contents: "module.exports = () => ({ prerelease: [] });",
      loader: "js",
    }));
    build.onResolve({ filter: /^lean:helpers$/ }, ({ path }) => ({ path, namespace: "lean" }));
    build.onLoad({ filter: /helpers/, namespace: "lean" }, () => ({ contents: helpers, loader: "js" }));
    build.onLoad(
      { filter: /node_modules[/\\]vscode-[^/\\]+[/\\]lib[/\\](common|node)[/\\].*\.js$/ },
      async ({ path }) => {
        const text = await readFile(path, "utf8");
        const lean = text.replace(preamble, "");
        if (lean === text) return { contents: text, loader: "js" };
        if (/^var __(import|export|createBinding)/m.test(lean))
          throw new Error(`${path}: a helper of another form: mend leanclient.mjs`);
        return {
          contents: `const { __importDefault, __importStar, __exportStar } = require("lean:helpers");\n${lean}`,
          loader: "js",
        };
      },
    );
  },
};
