import assert from "node:assert/strict";
import { test } from "node:test";
import { lastWords, readLogLine } from "../../src/serverlog.js";

test("a line of the server's log has its level, any other line is information", () => {
  const rest = 'msg="no provider" pid=7';
  assert.deepEqual(readLogLine(`time=2026-01-01T00:00:00Z level=ERROR ${rest}`), { level: "error", text: rest });
  assert.deepEqual(readLogLine(`time=2026-01-01T00:00:00Z level=WARN ${rest}`), { level: "warn", text: rest });
  assert.deepEqual(readLogLine(`time=2026-01-01T00:00:00Z level=DEBUG-4 ${rest}`), { level: "info", text: rest });
  assert.deepEqual(readLogLine("panic: no"), { level: "info", text: "panic: no" });
});

test("the last words are the message of the last line that is not empty", () => {
  assert.equal(lastWords([]), undefined);
  assert.equal(lastWords([" ", ""]), undefined);
  assert.equal(lastWords(["a", "error while loading shared libraries", ""]), "error while loading shared libraries");
  assert.equal(
    lastWords(['time=x level=ERROR msg="state is of a \\"newer\\" version" pid=7']),
    'state is of a "newer" version',
  );
  assert.equal(lastWords(['time=x level=ERROR msg="odd \\x00" pid=7']), '"odd \\x00"');
});
