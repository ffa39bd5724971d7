// Runs extension-host tests: mocha in the real extension host, with all of `vscode`. A file test/host/NAME.test.ts is an
// ordinary mocha file (describe, it, node:assert). Each gets a world, a VS Code and a browser of its own; what its world
// should be, if not the standard one, says test/host/NAME.world.json, the WorldOptions and VSCodeOptions of this folder.
// `World.here()` is that world: its project, its configuration, what went over the wire.
//
// These windows have --enable-smoke-test-driver, since VS Code takes the tests only with it; it also hides all toasts, and
// so what a toast shows is tested under test/ui.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { launch, VSCode, type VSCodeOptions } from "./vscode";
import { extensionFolder, World, type WorldOptions } from "./world";

interface Result {
  name: string;
  error?: string;
}

/** Runs one file of them; each of its tests becomes a subtest of t. */
export async function hostTests(t: TestContext, name: string, within = 120_000): Promise<void> {
  const special = join(extensionFolder, "test", "host", `${name}.world.json`);
  const options = (existsSync(special) ? JSON.parse(readFileSync(special, "utf8")) : {}) as WorldOptions &
    VSCodeOptions;
  const world = await World.make(options);
  try {
    for (const { name: test, error } of await run(world, name, options, within))
      await t.test(test, () => {
        if (error) throw new Error(error);
      });
  } finally {
    await world.close();
  }
}

async function run(world: World, name: string, options: VSCodeOptions, within: number): Promise<Result[]> {
  const results = join(world.dir, "results.jsonl");
  Object.assign(world.env, { AGENTLS_WORLD: world.dir, AGENTLS_HOST_TEST: name, AGENTLS_HOST_RESULTS: results });
  const vscode = await VSCode.start(world, { ...options, hostTests: true });
  try {
    const { browser, close } = await launch();
    try {
      const page = await browser.newPage();
      const said: string[] = [];
      await page.exposeFunction("codeAutomationLog", (_type: string, args: unknown[]) =>
        said.push(args.map(String).join(" ")),
      );
      const exited = new Promise<number>((done) => void page.exposeFunction("codeAutomationExit", done));
      const folder = (path: string) => `vscode-remote://${vscode.host}${path}`;
      await page.goto(
        vscode.url([
          ["extensionDevelopmentPath", folder(extensionFolder)],
          ["extensionTestsPath", folder(join(extensionFolder, "out", "test", "host", "index.js"))],
        ]),
      );
      let late: NodeJS.Timeout | undefined;
      const code = await Promise.race([
        exited,
        new Promise<string>((done) => (late = setTimeout(done, within, "not ended"))),
      ]);
      clearTimeout(late);
      const found = existsSync(results)
        ? readFileSync(results, "utf8")
            .split("\n")
            .filter(Boolean)
            .map((line) => JSON.parse(line) as Result)
        : [];
      const failed = found.filter((each) => each.error).length;
      // No run that ended early passes for a whole one.
      const none = found.length === 0 && !process.env["AGENTLS_TEST_NAMES"];
      if (code !== (failed > 0 ? 1 : 0) || none)
        found.push({
          name: "all tests ran",
          error: `exit: ${code} after ${found.length} tests\n${said.join("\n")}\n${vscode.log().slice(-4000)}`,
        });
      return found;
    } finally {
      await close();
    }
  } finally {
    await vscode.stop();
  }
}
