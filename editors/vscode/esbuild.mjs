// node esbuild.mjs [--production | --watch | --tests]
//
// Without --tests: dist/extension.js, and the webview as dist/panel.js and dist/panel.css.
// out/*.meta.json say what they are made of.
// With --tests: each test/**/*.test.ts, and what runs those of the extension host, under out/test; "vscode" is the host's.
import * as esbuild from "esbuild";
import { readFile } from "node:fs/promises";
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { leanClient } from "./leanclient.mjs";

const has = (flag) => process.argv.includes(flag);
const production = has("--production");

/** @type {esbuild.BuildOptions} */
const common = {
  bundle: true,
  logLevel: "warning",
  metafile: true,
  minify: production,
  sourcemap: production ? false : "linked",
  target: "es2022",
};

/** @type {esbuild.BuildOptions} */
const extension = {
  ...common,
  entryPoints: ["src/extension.ts"],
  external: ["vscode"],
  format: "cjs",
  mainFields: ["module", "main"],
  outfile: "dist/extension.js",
  // The private members of vscode-languageclient: it names them by `this._name` alone, and nothing here does.
  mangleProps: /^_[a-z]/,
  platform: "node",
  plugins: [leanClient],
  target: "node20",
};

/** Codicons are drawn at 16 px: two digits of a coordinate are enough, which halves them. */
const roundedIcons = {
  name: "rounded-icons",
  setup(build) {
    build.onLoad({ filter: /\.svg$/ }, async ({ path }) => ({
      contents: (await readFile(path, "utf8")).replace(/\d*\.\d{3,}/g, (n) => String(Number(Number(n).toFixed(2)))),
      loader: "text",
    }));
  },
};

/** Of marked the chat view takes the lexer: it makes the elements itself, so what writes HTML stays out of the bundle. */
const lexerAlone = {
  name: "lexer-alone",
  setup(build) {
    build.onLoad({ filter: /marked[/\\]lib[/\\]marked\.esm\.js$/ }, async ({ path }) => {
      const text = await readFile(path, "utf8");
      const [, lexer] = /[{,]([\w$]+) as Lexer[,}]/.exec(text) ?? [];
      const [, renderer] = /[{,]([\w$]+) as Renderer[,}]/.exec(text) ?? [];
      const end = text.indexOf(`var ${renderer}=class{`);
      if (!lexer || end < text.indexOf(`var ${lexer}=class`))
        throw new Error(`${path} has another form: mend esbuild.mjs`);
      return { contents: `${text.slice(0, end)}export{${lexer} as Lexer};`, loader: "js" };
    });
  },
};

/** @type {esbuild.BuildOptions} */
const panel = {
  ...common,
  entryPoints: [
    { in: "webview/main.ts", out: "panel" },
    ...(existsSync("webview/panel.css") ? ["webview/panel.css"] : []),
  ],
  format: "iife",
  loader: { ".ttf": "file" },
  outdir: "dist",
  platform: "browser",
  plugins: [lexerAlone, roundedIcons],
};

/** @type {esbuild.BuildOptions} */
const tests = {
  ...common,
  // The tests are no ES modules, and it is nothing else.
  alias: { marked: "./node_modules/marked/lib/marked.esm.js" },
  entryPoints: readdirSync("test", { recursive: true })
    .filter((name) => name.endsWith(".test.ts") || name === "host/index.ts")
    .map((name) => `test/${name}`),
  external: ["vscode", "mocha", "playwright-core"],
  format: "cjs",
  outbase: "test",
  outdir: "out/test",
  packages: "external",
  platform: "node",
  target: "node20",
};

if (has("--tests")) {
  rmSync("out/test", { recursive: true, force: true });
  await esbuild.build(tests);
} else if (has("--watch")) {
  for (const options of [extension, panel]) await (await esbuild.context(options)).watch();
} else {
  rmSync("dist", { recursive: true, force: true });
  mkdirSync("out", { recursive: true });
  for (const [name, options] of Object.entries({ extension, panel })) {
    const { metafile } = await esbuild.build(options);
    writeFileSync(`out/${name}.meta.json`, JSON.stringify(metafile)); // what the bundle is made of
  }
}
