// Reads a zip without a library: what is in it, with the modes that Unix gave, and the texts.
import { readFileSync } from "node:fs";
import { inflateRawSync } from "node:zlib";

export interface ZipEntry {
  name: string;
  /** Permissions as chmod has them. */
  mode: number;
  size: number;
  content(): Buffer;
}

/** APPNOTE 4.3.12 and 4.3.16: the central directory, without ZIP64. */
export function readZip(file: string): ZipEntry[] {
  const zip = readFileSync(file);
  const end = zip.lastIndexOf(Buffer.from("PK\x05\x06", "latin1"));
  if (end < 0) throw new Error(`${file} is no zip`);
  const entries: ZipEntry[] = [];
  for (let n = zip.readUInt16LE(end + 10), at = zip.readUInt32LE(end + 16); n > 0; n--) {
    const [method, packed, size] = [zip.readUInt16LE(at + 10), zip.readUInt32LE(at + 20), zip.readUInt32LE(at + 24)];
    const lengths = [28, 30, 32].map((offset) => zip.readUInt16LE(at + offset)) as [number, number, number];
    const local = zip.readUInt32LE(at + 42);
    entries.push({
      name: zip.toString("utf8", at + 46, at + 46 + lengths[0]),
      mode: (zip.readUInt32LE(at + 38) >>> 16) & 0o7777,
      size,
      content: () => {
        const from = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28);
        const data = zip.subarray(from, from + packed);
        return method === 0 ? data : inflateRawSync(data);
      },
    });
    at += 46 + lengths[0] + lengths[1] + lengths[2];
  }
  return entries;
}
