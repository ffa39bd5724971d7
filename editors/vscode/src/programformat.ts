/** What kind of program a file is. Without vscode. */
import { open } from "node:fs/promises";

const elf = Buffer.from("\x7fELF", "latin1");
const machO = ["cffaedfe", "feedfacf", "cafebabe", "bebafeca"]; // 64 bits in either order, and several in one
const machines: Record<string, number> = { x64: 0x3e, arm64: 0xb7 };

/**
 * Whether a system can run the file, as far as its first bytes tell. It has to be asked before the start: where the
 * system refuses a file, the C library would give it to a shell.
 */
export async function isProgramOf(platform: NodeJS.Platform, arch: string, path: string): Promise<boolean> {
  const head = await firstBytes(path, 20);
  if (platform === "win32") return head.subarray(0, 2).toString("latin1") === "MZ";
  if (head.subarray(0, 2).toString("latin1") === "#!") return true;
  if (platform === "darwin") return machO.includes(head.subarray(0, 4).toString("hex"));
  if (!head.subarray(0, 4).equals(elf)) return false;
  const machine = machines[arch];
  return machine === undefined || (head.length >= 20 && head.readUInt16LE(18) === machine);
}

async function firstBytes(path: string, count: number): Promise<Buffer> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(count), 0, count, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}
