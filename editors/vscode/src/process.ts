/** The server's process. Without vscode. */
import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { isProgramOf } from "./programformat.js";
import { lastWords } from "./serverlog.js";

const keptLines = 50;

/** One child on stdio. It is ours to end. */
export class ServerProcess {
  readonly child: ChildProcessWithoutNullStreams;
  /** Resolves with how it ended, a few words, once nothing comes from it any more. */
  readonly ended: Promise<string>;
  #lines: string[] = [];
  #alive = true;

  private constructor(child: ChildProcessWithoutNullStreams) {
    this.child = child;
    child.stdin.on("error", () => undefined); // it ended: that is what counts
    this.ended = new Promise((resolve) => {
      child.once("exit", (code, signal) => {
        this.#alive = false;
        const how = signal ?? `exit code ${code ?? "unknown"}`;
        // What it said last may still be on its way; a grandchild may hold the pipe.
        const timer = setTimeout(() => resolve(how), 500);
        child.once("close", () => {
          clearTimeout(timer);
          resolve(how);
        });
      });
    });
  }

  /** @throws a sentence that says why the program cannot be started. */
  static async start(path: string, options: { cwd: string; env: NodeJS.ProcessEnv }): Promise<ServerProcess> {
    let child: ChildProcessWithoutNullStreams | undefined;
    try {
      if (!(await isProgramOf(process.platform, process.arch, path))) {
        throw Object.assign(new Error("not a program"), { code: "ENOEXEC" });
      }
      const started = spawn(path, [], { ...options, stdio: "pipe", windowsHide: true });
      child = started;
      await new Promise<void>((resolve, reject) => {
        started.once("spawn", resolve);
        started.once("error", reject);
      });
    } catch (error) {
      throw new Error(cannotStart(path, error as NodeJS.ErrnoException), { cause: error });
    }
    return new ServerProcess(child);
  }

  get pid(): number | undefined {
    return this.child.pid;
  }

  heard(line: string): void {
    this.#lines = [...this.#lines, line].slice(-keptLines);
  }

  /** What it said last on stderr, for a person. */
  get lastWords(): string | undefined {
    return lastWords(this.#lines);
  }

  /** Whether it ends by itself within some milliseconds. */
  async endsWithin(milliseconds: number): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<false>((resolve) => {
      timer = setTimeout(() => resolve(false), milliseconds);
    });
    const ends = await Promise.race([this.ended.then(() => true), late]);
    clearTimeout(timer);
    return ends;
  }

  /** Closes its stdin, at which it ends, and kills it where it does not. */
  async end(milliseconds = 3000): Promise<void> {
    if (!this.#alive) return;
    this.child.stdin.end();
    const timer = setTimeout(() => this.child.kill("SIGKILL"), milliseconds);
    await this.ended;
    clearTimeout(timer);
  }
}

function cannotStart(path: string, error: NodeJS.ErrnoException): string {
  switch (error.code) {
    case "EACCES":
      return `${path} is not executable.`;
    case "ENOENT":
      return `${path} cannot be started: it, the program that it names in its first line, or the folder that it would run in is missing.`;
    case "ENOEXEC":
    case "UNKNOWN":
    case "EFTYPE":
      return `${path} is no program of this system (${process.platform}, ${process.arch}).`;
    default:
      return `${path} cannot be started: ${error.message}.`;
  }
}
