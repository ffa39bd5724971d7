// What tests leave behind, in .deps/screens/vscode.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Workbench } from "./workbench";
import { required } from "./world";

/** The path of a file of that name; what cannot stand in one is replaced. */
export function screen(name: string): string {
  const folder = required("AGENTLS_SCREENS");
  mkdirSync(folder, { recursive: true });
  return join(folder, name.replace(/[^\w.,-]+/g, "_").slice(-150));
}

/** Leaves a picture, the page's text and the logs of a test that failed. */
export async function keepFailure(w: Workbench, test: string): Promise<void> {
  const write = (what: string, text: string) => writeFileSync(screen(`failed ${test.slice(0, 100)} ${what}`), text);
  const wire = w.world.wire().map((each) => JSON.stringify(each));
  write("wire.jsonl", wire.join("\n"));
  write("server.log", w.world.serverLog());
  write("vscode.log", w.vscode.log());
  for (const [file, text] of Object.entries(w.vscode.extensionLogs())) write(file, text);
  if (w.page.isClosed()) return;
  await w.page.screenshot({ path: screen(`failed ${test.slice(0, 100)} page.png`) });
  const frames = w.page.frames().filter((frame) => !frame.url().includes("webWorker"));
  const texts = frames.map((frame) => frame.locator("body").innerText({ timeout: 2000 }).catch(String));
  write("page.txt", (await Promise.all(texts)).join("\n---- a frame in it\n"));
}
