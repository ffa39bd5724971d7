// What VS Code calls in the extension host: runs one file with mocha and writes a line of JSON per test, which
// driver/host.ts reads.
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import Mocha from "mocha";
import { required } from "../driver/world";

export function run(): Promise<void> {
  const results = required("AGENTLS_HOST_RESULTS");
  const tell = (test: Mocha.Test, error?: Error) =>
    appendFileSync(
      results,
      JSON.stringify({ name: test.fullTitle(), error: error && (error.stack ?? error.message) }) + "\n",
    );
  const mocha = new Mocha({ timeout: 30_000, forbidOnly: true, reporter: "base", ...grep() });
  mocha.addFile(join(__dirname, `${required("AGENTLS_HOST_TEST")}.test.js`));
  return new Promise((done, fail) => {
    const runner = mocha.run((failures) => (failures ? fail(new Error(`${failures} failed`)) : done()));
    runner.on("pass", (test) => tell(test));
    // A hook that fails is told as one, with the test that it belongs to.
    runner.on("fail", (test, error) => tell(test, error as Error));
    runner.on("pending", (test) => tell(test, new Error("skipped: a test that cannot run here must not pass for one")));
  });
}

function grep(): { grep?: RegExp } {
  const names = process.env["AGENTLS_TEST_NAMES"];
  return names ? { grep: new RegExp(names) } : {};
}
