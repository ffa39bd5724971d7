import * as vscode from "vscode";
import type { Agentls } from "./agentls.js";
import { messageOf } from "./text.js";
import { Throttle } from "./throttle.js";

/** The source of what agentls itself says of a document: that is for the person who writes there. */
const own = "agentls";
/** Milliseconds between two notifications. */
const pause = 250;
/** More documents than this at a time are told as "any". */
const many = 20;
/** What is a document to the server. */
const schemes = new Set(["file", "untitled", "vscode-notebook-cell"]);

function ofOthers(uri: vscode.Uri): vscode.Diagnostic[] {
  return vscode.languages.getDiagnostics(uri).filter((d) => d.source !== own);
}

/** Tells the server which documents' diagnostics changed, and answers what they are (CONTRACT §6). */
export function register(a: Agentls): void {
  a.own(
    a.server.onRequest("agentls/diagnostics", async ({ uri }) => {
      const client = await a.server.ready();
      const all = vscode.languages.getDiagnostics().map(([its]) => its);
      const wanted = uri === undefined ? all : [client.protocol2CodeConverter.asUri(uri)];
      return await Promise.all(
        wanted
          .filter((its) => schemes.has(its.scheme))
          .map(async (its) => ({
            uri: uri ?? client.code2ProtocolConverter.asUri(its),
            ...versionOf(its),
            diagnostics: await client.code2ProtocolConverter.asDiagnostics(ofOthers(its)),
          })),
      );
    }),
  );
  const had = new Set<string>(); // documents of which others said something
  const throttle = a.own(
    new Throttle<string>(pause, (uris) => {
      tell(a, uris).catch((error: unknown) => a.log.warn(messageOf(error)));
    }),
  );
  a.own(
    vscode.languages.onDidChangeDiagnostics(({ uris }) => {
      if (a.server.state !== "ready") return; // it asks for all when it starts
      throttle.add(uris.filter((uri) => schemes.has(uri.scheme) && isNews(uri, had)).map(String));
    }),
  );
}

function versionOf(uri: vscode.Uri): { version?: number } {
  const document = vscode.workspace.textDocuments.find((d) => d.uri.toString() === uri.toString());
  return document === undefined ? {} : { version: document.version };
}

/** What the server itself published is no news to it. */
function isNews(uri: vscode.Uri, had: Set<string>): boolean {
  const key = uri.toString();
  const others = ofOthers(uri).length > 0;
  const before = had.has(key);
  if (others) had.add(key);
  else had.delete(key);
  return others || before || vscode.languages.getDiagnostics(uri).length === 0;
}

async function tell(a: Agentls, uris: string[]): Promise<void> {
  const client = await a.server.ready();
  const changed =
    uris.length > many
      ? [{}]
      : uris.map((uri) => ({ uri: client.code2ProtocolConverter.asUri(vscode.Uri.parse(uri)) }));
  for (const params of changed) await client.sendNotification("agentls/didChangeDiagnostics", params);
}
