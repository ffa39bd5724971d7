// What every extension-host test begins with: the extension as it is loaded here.
import assert from "node:assert/strict";
import * as vscode from "vscode";
import type { Agentls } from "../../src/agentls.js";
import type { ServerState } from "../../src/server.js";

export async function extension(): Promise<Agentls> {
  const found = vscode.extensions.getExtension<{ agentls: Agentls }>("agentls.agentls");
  assert.ok(found, "the extension is installed");
  return (await found.activate()).agentls;
}

/** The first value that is none of undefined, false, 0 and ""; asked for again and again. */
export async function until<T>(what: string, look: () => T | Promise<T>, within = 20_000): Promise<NonNullable<T>> {
  for (const deadline = Date.now() + within; ;) {
    const value = await look();
    if (value) return value;
    if (Date.now() > deadline) assert.fail(`not within ${within} ms: ${what}`);
    await new Promise((done) => setTimeout(done, 20));
  }
}

/** Waits for a state of the server; call it before what leads there. */
export function reaches(a: Agentls, state: ServerState): Promise<void> {
  return new Promise((resolve) => {
    const listener = a.server.onDidChange((now) => {
      if (now !== state) return;
      listener.dispose();
      resolve();
    });
  });
}
