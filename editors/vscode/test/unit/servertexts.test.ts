import assert from "node:assert/strict";
import test from "node:test";
import { logText } from "../../src/servers/logtext.js";
import { promptLine, promptText } from "../../src/servers/prompttext.js";

test("a log tells when, from where and why it ended", () => {
  const time = new Date(2026, 10, 30, 9, 5, 7, 8);
  const text = logText({
    name: "s",
    status: "failed",
    error: "exit status 3",
    lines: [
      { time: time.toISOString(), source: "stderr", level: "error", text: "out of luck" },
      { time: "odd", source: "log", level: "warning", text: "late" },
    ],
  });
  assert.equal(text, "09:05:07.008 [stderr] out of luck\nodd [log warning] late\n\nfailed: exit status 3\n");
  assert.equal(logText({ name: "s", status: "ready", lines: [] }), "It has said nothing yet.\n");
});

test("what a prompt says stands under its roles", () => {
  const text = promptText({
    description: "About",
    messages: [
      {
        role: "user",
        contents: [
          { type: "text", text: "one" },
          { type: "image", mimeType: "image/png", blob: "AAAA" },
        ],
      },
      {
        role: "assistant",
        contents: [
          { type: "resource", uri: "x://a", text: "body" },
          { type: "resource_link", uri: "x://b", name: "b" },
          { type: "odd" },
        ],
      },
    ],
  });
  assert.equal(
    text,
    "About\n\n## user\n\none\n\n(image: image/png, 3 B)\n\n## assistant\n\n[x://a]\n\nbody\n\n[b · x://b]\n\n(odd)\n",
  );
  assert.equal(promptLine("s", "p", { city: "New\nYork" }), "/s:p city=New York");
});
