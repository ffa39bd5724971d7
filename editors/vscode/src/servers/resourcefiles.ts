import { createHash } from "node:crypto";
import * as vscode from "vscode";
import type { Agentls } from "../agentls.js";
import type { Content } from "../protocol.js";
import { messageOf } from "../text.js";
import { bytesOf, fileNameOf } from "./resourcename.js";

export const scheme = "agentls-resource";

/** A resource of a server. */
export interface ResourceRef {
  server: string;
  uri: string;
}

interface File extends ResourceRef {
  contents: Promise<readonly Content[]>;
  modified: number;
}

/** How many resources are remembered by their address, for editors that are restored. */
const mostRemembered = 200;

/**
 * The resources of MCP servers as read-only files, so that VS Code shows them in its own editors: texts with their
 * language, images, sounds. An address is /<sum of server and URI>/<name>: it has no place for the whole URI that
 * all editors keep.
 */
export class ResourceFiles implements vscode.FileSystemProvider {
  readonly #changed = new vscode.EventEmitter<vscode.FileChangeEvent[]>();
  readonly onDidChangeFile = this.#changed.event;
  readonly #files = new Map<string, File>();

  constructor(readonly agentls: Agentls) {
    agentls.own(this.#changed);
    agentls.own(vscode.workspace.registerFileSystemProvider(scheme, this, { isReadonly: true, isCaseSensitive: true }));
    agentls.own(agentls.servers.onDidChange(() => void this.#renew()));
    agentls.own(
      vscode.window.tabGroups.onDidChangeTabs(({ closed }) => {
        if (closed.length > 0) this.#forget();
      }),
    );
  }

  /** Reads it anew: what was read, and the address of the file. A failed read throws. */
  async open(resource: ResourceRef, mimeType?: string): Promise<{ uri: vscode.Uri; contents: readonly Content[] }> {
    const sum = sumOf(resource);
    const contents = this.#read(sum, resource);
    const read = await contents;
    const type = read.length === 1 ? read[0]!.mimeType : "text/plain";
    const name = fileNameOf(resource.uri, type || mimeType);
    const uri = vscode.Uri.from({ scheme, authority: authorityOf(resource.server), path: `/${sum}/${name}` });
    this.#changed.fire([{ type: vscode.FileChangeType.Changed, uri }]);
    await this.#remember(sum, resource);
    return { uri, contents: read };
  }

  /** Which resource a file is. */
  resourceOf(uri: vscode.Uri): ResourceRef | undefined {
    const sum = sumIn(uri);
    return this.#files.get(sum) ?? this.#remembered()[sum];
  }

  async stat(uri: vscode.Uri): Promise<vscode.FileStat> {
    const file = this.#file(uri);
    const { byteLength } = bytesOf(await this.#contents(uri, file));
    const { modified } = file;
    return {
      type: vscode.FileType.File,
      ctime: modified,
      mtime: modified,
      size: byteLength,
      permissions: vscode.FilePermission.Readonly,
    };
  }

  async readFile(uri: vscode.Uri): Promise<Uint8Array> {
    return bytesOf(await this.#contents(uri, this.#file(uri)));
  }

  watch(): vscode.Disposable {
    return new vscode.Disposable(() => undefined); // the servers tell
  }

  readDirectory(): [string, vscode.FileType][] {
    return [];
  }

  createDirectory(uri: vscode.Uri): never {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  writeFile(uri: vscode.Uri): never {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  delete(uri: vscode.Uri): never {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  rename(uri: vscode.Uri): never {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  #file(uri: vscode.Uri): File {
    const sum = sumIn(uri);
    const file = this.#files.get(sum);
    if (file !== undefined) return file;
    const resource = this.#remembered()[sum];
    if (resource === undefined) throw vscode.FileSystemError.FileNotFound(uri);
    void this.#read(sum, resource);
    return this.#files.get(sum)!;
  }

  async #contents(uri: vscode.Uri, file: File): Promise<readonly Content[]> {
    try {
      return await file.contents;
    } catch (error) {
      this.#files.delete(sumIn(uri)); // it is read anew the next time
      throw vscode.FileSystemError.Unavailable(messageOf(error));
    }
  }

  #read(sum: string, { server, uri }: ResourceRef): Promise<readonly Content[]> {
    const contents = this.agentls.server.command("agentls.mcp.read", { server, uri }).then((read) => read.contents);
    contents.catch(() => undefined); // whoever waits is told
    this.#files.set(sum, { server, uri, contents, modified: Date.now() });
    return contents;
  }

  /** Reads anew what is open and was said to have changed. */
  async #renew(): Promise<void> {
    for (const uri of openFiles()) {
      const sum = sumIn(uri);
      const file = this.#files.get(sum);
      if (file === undefined || !(await this.#isStale(file)) || this.#files.get(sum) !== file) continue;
      void this.#read(sum, file).then(
        () => this.#changed.fire([{ type: vscode.FileChangeType.Changed, uri }]),
        (error: unknown) => this.agentls.log.warn(`${file.uri}: ${messageOf(error)}`),
      );
    }
  }

  async #isStale({ server, uri }: ResourceRef): Promise<boolean> {
    try {
      const { resources } = await this.agentls.server.command("agentls.mcp.resources", {
        server,
        query: uri,
        limit: 50,
      });
      return resources.some((resource) => resource.uri === uri && resource.stale);
    } catch {
      return false; // the server is gone: what was read stays
    }
  }

  /** Lets go of what no tab shows. */
  #forget(): void {
    const open = new Set(openFiles().map(sumIn));
    for (const sum of this.#files.keys()) if (!open.has(sum)) this.#files.delete(sum);
  }

  #remembered(): Record<string, ResourceRef> {
    return this.agentls.context.workspaceState.get(scheme, {});
  }

  async #remember(sum: string, { server, uri }: ResourceRef): Promise<void> {
    const others = Object.entries(this.#remembered()).filter(([key]) => key !== sum);
    const kept = [...others, [sum, { server, uri }]].slice(-mostRemembered);
    await this.agentls.context.workspaceState.update(scheme, Object.fromEntries(kept));
  }
}

function openFiles(): vscode.Uri[] {
  const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs);
  return tabs.flatMap(({ input }) => {
    const shows = input instanceof vscode.TabInputText || input instanceof vscode.TabInputCustom;
    return shows && input.uri.scheme === scheme ? [input.uri] : [];
  });
}

function sumOf({ server, uri }: ResourceRef): string {
  return createHash("sha256")
    .update(JSON.stringify([server, uri]))
    .digest("hex")
    .slice(0, 12);
}

function sumIn(uri: vscode.Uri): string {
  return uri.path.split("/")[1] ?? "";
}

/** What is beside the name on a tab. */
function authorityOf(server: string): string {
  return server.toLowerCase().replace(/[^a-z0-9.-]/gu, "-");
}
