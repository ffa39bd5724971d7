// An MCP server on stdio with a few resources, prompts and tools: echo, add_resource (and tells so), burst (adds many, and
// tells so for each), log (a line in its log), sleep (until cancelled), elicit, die (in the middle of the call).
// Usage: node mcp.mjs LOG. Logs what it gets; ends when its stdin does, or after ten minutes.
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";

const log = (entry) => appendFileSync(process.argv[2], JSON.stringify(entry) + "\n");
const write = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");

const resource = (name) => ({ uri: `test://docs/${name}`, name, mimeType: "text/markdown" });
const resources = ["world.md", "other-page.md", "a$b}.md"].map(resource);
resources.push({ uri: "test://my docs/read me.md", name: "read me.md" }, { uri: "test://docs/17", name: "17", title: "Billing guide" });
const schema = (properties = {}) => ({ type: "object", properties });
const tools = [
  { name: "echo", description: "Says it back", inputSchema: schema({ text: { type: "string" } }) },
  { name: "add_resource", description: "Adds a resource", inputSchema: schema({ name: { type: "string" } }) },
  { name: "burst", description: "Adds resources", inputSchema: schema({ count: { type: "integer" } }) },
  { name: "log", description: "Logs a line", inputSchema: schema({ level: { type: "string" }, data: {} }) },
  { name: "sleep", description: "Sleeps for a minute", inputSchema: schema() },
  { name: "elicit", description: "Asks a person and says what came", inputSchema: schema({ params: { type: "object" } }) },
  { name: "die", description: "Ends the server, not the call", inputSchema: schema() },
];
const prompts = [
  {
    name: "greet",
    description: "Greets somebody",
    arguments: [
      { name: "name", description: "Who is greeted", required: true },
      { name: "tone", description: "How" },
    ],
  },
];
const tones = ["friendly", "formal", "frank"];
const sleeping = new Map(); // timers by request id
const asked = new Map(); // requests for a person's answer by the id of ours

const say = (id, text) => write({ id, result: { content: [{ type: "text", text }] } });

const calls = {
  echo: (id, { text }) => say(id, `echo ${text}`),
  add_resource(id, { name }) {
    resources.push(resource(name));
    write({ method: "notifications/resources/list_changed" });
    say(id, `added ${name}`);
  },
  burst(id, { count }) {
    for (let n = 1; n <= count; n++) {
      resources.push(resource(`burst-${n}.md`));
      write({ method: "notifications/resources/list_changed" });
    }
    say(id, `added ${count}`);
  },
  log(id, { level = "info", data }) {
    write({ method: "notifications/message", params: { level, logger: "test", data } });
    say(id, "logged");
  },
  sleep: (id) => sleeping.set(id, setTimeout(() => say(id, "slept"), 60_000)),
  elicit(id, { params }) {
    asked.set(`ask-${id}`, id);
    write({ id: `ask-${id}`, method: "elicitation/create", params });
  },
  die() {
    console.error("out of luck");
    process.exit(1);
  },
};

const methods = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { completions: {}, logging: {}, prompts: {}, tools: {}, resources: { listChanged: true, subscribe: true } },
    serverInfo: { name: "test", version: "1" },
  }),
  ping: () => ({}),
  "completion/complete": ({ argument }) => ({
    completion: { values: argument.name === "tone" ? tones.filter((tone) => tone.startsWith(argument.value)) : [] },
  }),
  "logging/setLevel": () => ({}),
  "prompts/list": () => ({ prompts }),
  "prompts/get": ({ arguments: { name, tone = "plain" } }) => ({
    messages: [{ role: "user", content: { type: "text", text: `SAY Good day, ${name}, in a ${tone} tone.` } }],
  }),
  "tools/list": () => ({ tools }),
  "resources/list": () => ({ resources }),
  "resources/templates/list": () => ({ resourceTemplates: [] }),
  "resources/subscribe": () => ({}),
  "resources/unsubscribe": () => ({}),
  "resources/read": ({ uri }) => ({ contents: [{ uri, mimeType: "text/markdown", text: `Contents of ${uri}\n` }] }),
};

createInterface({ input: process.stdin })
  .on("line", (line) => {
    const { id, method, params = {}, result } = JSON.parse(line);
    log({ method, params });
    if (asked.has(id)) return say(asked.get(id), `answer ${JSON.stringify(result)}`);
    if (method === "notifications/cancelled") clearTimeout(sleeping.get(params.requestId));
    if (id === undefined || method === undefined) return;
    if (method === "tools/call" && calls[params.name]) calls[params.name](id, params.arguments ?? {});
    else if (methods[method]) write({ id, result: methods[method](params) });
    else write({ id, error: { code: -32601, message: `no method ${method}` } });
  })
  .on("close", () => process.exit());
setTimeout(() => process.exit(1), 600_000);
