import assert from "node:assert/strict";
import { test } from "node:test";
import type { SessionInfo, SessionText } from "../../src/protocol.js";
import { isLive } from "../../src/runs.js";
import { fileName, groups, markdown, titleOf } from "../../src/sessiontext.js";

const now = new Date(2026, 10, 30, 12, 0, 0).getTime();
const hour = 3600_000;

function session(more: Partial<SessionInfo> & { age?: number }): SessionInfo {
  const { age = 0, ...rest } = more;
  const time = new Date(now - age).toISOString();
  return { session: "s", folder: "/w", title: "Title", createdAt: time, updatedAt: time, turns: 1, ...rest };
}

test("what runs stands first, the rest under its day", () => {
  const list = [
    session({ session: "1", age: 60_000 }),
    session({ session: "2", age: 30 * hour, status: "waiting" }),
    session({ session: "3", age: 26 * hour, turns: 4, status: "failed" }),
    session({ session: "4", age: 24 * 20 * hour }),
  ];
  const got = groups(list, now).map((g) => [g.heading, ...g.rows.map((r) => r.session.session)]);
  assert.deepEqual(got, [
    ["Running", "2"],
    ["Today", "1"],
    ["Yesterday", "3"],
    ["Older", "4"],
  ]);
  const [running, today, yesterday] = groups(list, now).map((g) => g.rows[0]);
  assert.equal(running?.label, "$(sync~spin) Title");
  assert.equal(running.description, "1 day ago · 1 turn · waiting");
  assert.equal(today?.description, "1 min ago · 1 turn");
  assert.equal(yesterday?.description, "1 day ago · 4 turns · failed");
  assert.ok(!isLive(list[2]!));
});

test("the folder is shown where there are several", () => {
  const [group] = groups([session({ folder: "/w/a" })], now, (folder) => folder.slice(3));
  assert.equal(group?.rows[0]?.detail, "$(folder) a");
  assert.equal(groups([session({})], now)[0]?.rows[0]?.detail, undefined);
});

test("a title makes no icon, no long line and no path", () => {
  const evil = session({ title: "$(trash) ../../etc/passwd\n" + "x".repeat(500) });
  const label = groups([evil], now)[0]?.rows[0]?.label ?? "";
  assert.ok(label.startsWith("\\$(trash) ../../etc/passwd xxx") && label.length < 150, label);
  assert.equal(titleOf(session({ title: " " })), "(nothing was asked)");
  assert.match(fileName(evil), /^[^/\\]{1,55}\.md$/);
  assert.equal(fileName(session({ title: "///" })), "session.md");
});

test("a session reads as Markdown that loads nothing and that no text leaves", () => {
  const text: SessionText = {
    ...session({ session: "abc", title: "What <img src=x>?" }),
    omitted: 2,
    note: "2 messages are left out",
    messages: [
      { role: "user", text: "look ![x](https://evil.example/a.png)", images: 2, time: "" },
      { role: "assistant", text: "", toolCalls: [{ id: "1", name: "read_file", arguments: '{"path":"a"}' }], time: "" },
      { role: "tool", text: "```\n# You\n````", toolCallId: "1", time: "" },
      { role: "assistant", text: 'Done <IMG src="https://evil.example/b.png"> List<string>', time: "" },
    ],
  };
  const got = markdown(text);
  assert.match(got, /^# What \\<img src=x>\?\n/);
  assert.match(got, /\*2 messages are left out\*/);
  assert.match(got, /## You\n\nlook !\\\[x\]/);
  assert.match(got, /\*\(2 images\)\*/);
  assert.match(got, /### Called read_file\n\n```json\n\{\n {2}"path": "a"\n\}\n```/);
  assert.ok(got.includes("`````\n```\n# You\n````\n`````"), got);
  assert.ok(got.includes("\\<IMG") && got.includes("List<string>"), got);
  assert.ok(!/(?<!\\)<img|!\[/iu.test(got), got);
});
