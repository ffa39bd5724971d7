import assert from "node:assert/strict";
import { test } from "node:test";
import { args, parts, readArguments, uneditable, word } from "../../src/questions/body.js";
import type { Question } from "../../src/questions/question.js";
import { buttons, descriptionOf, left, title, whose } from "../../src/questions/words.js";

const base: Question = {
  id: "1",
  seq: 1,
  kind: "tool",
  runId: "r",
  session: "s",
  server: "files",
  tool: "move",
  part: "",
  description: "",
  reason: "",
  definitionChanged: false,
  covers: "",
  decisions: ["deny", "once", "session", "always"],
  problem: "",
};
const noYes: Question["decisions"] = ["deny"];
const twoWays: Question["decisions"] = ["deny", "once"];

for (const [q, name, labels] of [
  [base, "Run move of files?", ["Deny", "Allow Once", "Allow for This Session", "Always Allow"]],
  [{ ...base, server: "", tool: "web_fetch", decisions: twoWays }, "Run web_fetch?", ["Deny", "Allow Once"]],
  [
    { ...base, server: "", tool: "run_command", arguments: { command: "ls" }, decisions: twoWays },
    "Run this command?",
    ["Deny", "Allow Once"],
  ],
  [
    { ...base, tool: "run_command", arguments: { command: "ls" }, decisions: noYes },
    "Run run_command of files?",
    ["Deny"],
  ],
  [
    { ...base, preview: { uri: "file:///a", path: "a.ts", added: 1, removed: 0, diff: "" }, decisions: twoWays },
    "Change a.ts?",
    ["Deny", "Allow Once"],
  ],
  [{ ...base, kind: "trust", decisions: twoWays }, "Start the MCP server files?", ["Not Now", "Trust and Start"]],
  [{ ...base, kind: "trust", decisions: noYes }, "Start the MCP server files?", ["Not Now"]],
  [
    { ...base, kind: "trust", server: "", arguments: { folders: ["/a"] }, decisions: twoWays },
    "Trust this folder?",
    ["Not Now", "Trust Folder"],
  ],
  [
    { ...base, kind: "trust", server: "", arguments: { files: [] }, decisions: twoWays },
    "Apply the changed configuration?",
    ["Not Now", "Apply"],
  ],
  [
    { ...base, kind: "sample", decisions: ["deny", "once", "session"] },
    "Let files ask the model?",
    ["Deny", "Allow Once", "Allow Once and Show Me the Answer", "Allow for This Session"],
  ],
  [
    { ...base, kind: "sample", arguments: { text: "4" }, decisions: twoWays },
    "Send this answer to files?",
    ["Deny", "Send the Answer"],
  ],
  [
    { ...base, kind: "input", form: { message: "?", fields: [] }, decisions: twoWays },
    "files needs a value",
    ["Not Now", "Send"],
  ],
  [
    { ...base, kind: "elicit", form: { message: "?", fields: [] }, decisions: twoWays },
    "files asks you",
    ["Decline", "Cancel", "Accept"],
  ],
  [
    {
      ...base,
      kind: "elicit",
      link: { message: "?", url: "https://h/", host: "h", opened: false },
      decisions: twoWays,
    },
    "Open a page of h?",
    ["Decline", "Cancel", "Open in Browser"],
  ],
  [
    { ...base, kind: "elicit", link: { message: "?", url: "https://h/", host: "h", opened: true }, decisions: twoWays },
    "Are you done at h?",
    ["Decline", "Cancel", "Continue", "Open Again"],
  ],
  [
    { ...base, kind: "plan", steps: [{ id: "a", title: "A", task: "t", dependsOn: [] }], decisions: twoWays },
    "Run this plan of 1 step?",
    ["Stop", "Ask for Another Plan", "Run Plan"],
  ],
] as [Question, string, string[]][]) {
  test(`${name} ${labels.join(" · ")}`, () => {
    assert.equal(title(q), name);
    const list = buttons(q);
    assert.deepEqual(
      list.map((b) => b.label),
      labels,
    );
    assert.equal(list[0]?.sense, "no", "the safe one is first");
    assert.ok(list.filter((b) => b.sense === "yes").every((b) => q.decisions.includes(b.answer.decision as "once")));
  });
}

test("arguments are readable", () => {
  assert.deepEqual(args({ path: "a", text: "1\n2\n", n: 5, list: [1, { a: "b" }], long: "x".repeat(121) }), [
    { kind: "value", label: "path", value: "a" },
    { kind: "block", label: "text", text: "1\n2\n" },
    { kind: "value", label: "n", value: "5" },
    { kind: "value", label: "list", value: '[1,{"a":"b"}]' },
    { kind: "block", label: "long", text: "x".repeat(121) },
  ]);
  assert.deepEqual(args({}), []);
  assert.deepEqual(args(undefined), []);
  assert.deepEqual(args([1]), [{ kind: "block", label: "Arguments", text: "[1]" }]);
});

test("a command is shown before the rest", () => {
  const q = {
    ...base,
    server: "",
    tool: "run_command",
    arguments: { timeoutSeconds: 5, command: "rm -r x", cwd: "sub" },
  };
  assert.deepEqual(parts(q), [
    { kind: "block", label: "Command", text: "rm -r x" },
    { kind: "value", label: "In", value: "sub" },
    { kind: "value", label: "timeoutSeconds", value: "5" },
  ]);
});

test("all that a project's server is started with is shown whole", () => {
  const definition = {
    command: "npx",
    args: ["-y", "pack age", ""],
    cwd: "/w",
    env: { A: "1", B: "${TOKEN}" },
    envFile: ".env",
  };
  const q: Question = { ...base, kind: "trust", arguments: { source: ".mcp.json", definition, reads: ["TOKEN"] } };
  assert.deepEqual(parts(q), [
    { kind: "value", label: "From", value: ".mcp.json" },
    { kind: "block", label: "Runs", text: 'npx -y "pack age" ""' },
    { kind: "value", label: "In", value: "/w" },
    { kind: "list", label: "Sets", items: ["A=1", "B=${TOKEN}"] },
    { kind: "value", label: "Sets what is in", value: ".env" },
    { kind: "list", label: "Reads the variables", items: ["TOKEN"] },
  ]);
  const remote = { url: "https://h/mcp", headers: { Authorization: "Bearer ${T}" } };
  assert.deepEqual(parts({ ...q, arguments: { definition: remote } }), [
    { kind: "value", label: "Connects to", value: "https://h/mcp" },
    { kind: "list", label: "Sends the headers", items: ["Authorization=Bearer ${T}"] },
  ]);
  assert.equal(word("a;b"), '"a;b"');
  assert.equal(word("a\u202eb"), '"a\u202eb"');
});

test("a change of the configuration names what it widens and starts", () => {
  const q: Question = {
    ...base,
    kind: "trust",
    server: "",
    arguments: {
      files: ["/c.json"],
      serversAdded: ["x"],
      serversRemoved: [],
      widened: ["it allows …"],
      starts: { x: { command: "c" } },
    },
  };
  assert.deepEqual(parts(q), [
    { kind: "list", label: "Files", items: ["/c.json"] },
    { kind: "list", label: "Lets more happen", items: ["it allows …"] },
    { kind: "list", label: "Servers added", items: ["x"] },
    { kind: "text", text: "The server x will start:" },
    { kind: "block", label: "Runs", text: "c" },
  ]);
});

test("what a server asks the model is readable", () => {
  const q: Question = {
    ...base,
    kind: "sample",
    arguments: {
      systemPrompt: "Be brief.",
      messages: [
        { role: "user", content: { type: "text", text: "Sum\nit up" } },
        {
          role: "user",
          content: [
            { type: "image", mimeType: "image/png", data: "AAAA" },
            { type: "text", text: "this" },
          ],
        },
        "odd",
      ],
      maxTokens: 50,
      modelPreferences: { hints: [{ name: "small" }, 5] },
    },
  };
  assert.deepEqual(parts(q), [
    { kind: "block", label: "system", text: "Be brief." },
    { kind: "block", label: "user", text: "Sum\nit up" },
    { kind: "block", label: "user", text: "[image image/png]\nthis" },
    { kind: "block", label: "message", text: '"odd"' },
    { kind: "value", label: "At most", value: "50 tokens" },
    { kind: "value", label: "It would like", value: "small" },
  ]);
  assert.deepEqual(parts({ ...q, arguments: { text: "4" } }), [
    { kind: "block", label: "The model's answer", text: "4" },
  ]);
});

test("edited arguments are read, or it is said what is wrong", () => {
  assert.deepEqual(readArguments('{"a": [1]}'), { a: [1] });
  for (const [text, want] of [
    ["{", /^This is no JSON yet: .*Mend it, or take the edit back\.$/],
    ["[1]", /must be a JSON object/],
    ["null", /must be a JSON object/],
    ['{"n": 12345678901234567890}', /too large/],
  ] as const) {
    const read = readArguments(text);
    assert.ok(typeof read === "string" && want.test(read), JSON.stringify(read));
  }
  assert.equal(uneditable({ a: 1.5, b: [1e30] }) === undefined, false);
  assert.equal(uneditable({ a: 9007199254740991 }), undefined);
  assert.match(uneditable([1]) ?? "", /no object/);
});

test("how long is left", () => {
  const q = { ...base, deadline: 100_000 };
  assert.equal(left(q, 0), "1:40");
  assert.equal(left(q, 39_001), "1:01");
  assert.equal(left(q, 95_500), "0:05");
  assert.equal(left(q, 200_000), "0:00");
  assert.equal(left(base, 0), undefined);
});

test("whose question it is", () => {
  assert.equal(whose({ ...base, part: "step 2" }), "files · step 2");
  assert.equal(whose({ ...base, server: "" }), "agentls");
});

test("a built-in tool is not described in the words that are the model's", () => {
  const description = "To change a part of a file use edit_file.";
  assert.equal(descriptionOf({ ...base, server: "", tool: "write_file", description }), "");
  assert.equal(descriptionOf({ ...base, description }), description);
  assert.equal(descriptionOf({ ...base, kind: "trust", server: "", description }), description);
});
