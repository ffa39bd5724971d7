import assert from "node:assert/strict";
import test from "node:test";
import type { Content } from "../../src/protocol.js";
import { bytesOf, describeBytes, fileNameOf, shownAs, sizeOf } from "../../src/servers/resourcename.js";

test("a name that a file system takes, and that tells the kind", () => {
  const cases: [string, string | undefined, string][] = [
    ["file:///a/b/read%20me.md", undefined, "read me.md"],
    ["demo://resource/static/document/features", "text/markdown", "features.md"],
    ["git://diff/unstaged", "text/x-diff; charset=utf-8", "unstaged.diff"],
    ["x://a/b?x=1/2#f", "application/ld+json", "b.json"],
    ["urn:isbn:123", "", "123"],
    ["x://", undefined, "resource"],
    ["x://host/../..", "text/plain", "resource.txt"],
    ["x://a/..%2f..%2fetc%2fpasswd", undefined, "_.._etc_passwd"],
    ["x://a/evil\u202egnp.exe", undefined, "evilgnp.exe"],
    ["x://a/p.agentls.md", "text/markdown", "p.md"],
    ["x://a/%zz", undefined, "_zz"],
  ];
  for (const [uri, type, want] of cases) assert.equal(fileNameOf(uri, type), want, uri);
});

const text = (uri: string, words: string): Content => ({ uri, mimeType: "text/plain", text: words });
const blob = (mimeType: string, bytes: string): Content => ({
  uri: "x://b",
  mimeType,
  blob: Buffer.from(bytes).toString("base64"),
});

test("images and sounds are shown, other bytes are named", () => {
  assert.equal(shownAs([text("x://a", "a")]), "text");
  assert.equal(shownAs([]), "text");
  assert.equal(shownAs([blob("image/png", "x")]), "media");
  assert.equal(shownAs([blob("image/x-unheard", "x")]), "binary");
  assert.equal(shownAs([blob("application/zip", "x")]), "binary");
  assert.equal(shownAs([blob("image/png", "x"), text("x://a", "a")]), "binary");
  assert.equal(describeBytes(blob("application/zip", "12345")), "application/zip, 5 B");
});

test("what was read is one file", () => {
  assert.equal(Buffer.from(bytesOf([text("x://a", "ä")])).toString(), "ä");
  assert.deepEqual([...bytesOf([blob("image/png", "\x00\x01")])], [0, 1]);
  assert.equal(
    Buffer.from(bytesOf([text("x://a", "one"), blob("image/png", "12")])).toString(),
    "x://a\n\none\n\nx://b\n\n(image/png, 2 B)",
  );
  assert.equal(bytesOf([]).length, 0);
});

test("sizes", () => {
  assert.deepEqual([0, 999, 1000, 1234, 9960, 999499, 999500, 5e9].map(sizeOf), [
    "0 B",
    "999 B",
    "1.0 kB",
    "1.2 kB",
    "10 kB",
    "999 kB",
    "1.0 MB",
    "5.0 GB",
  ]);
});
