// An MCP server on stdio with long lists: item<n> as resources, an image and bytes among them, a template and a prompt with
// values for what they take.
// Usage: node mcplists.mjs LOG [N]. Logs its pid and what it gets. SIGUSR2 makes one more resource and tells so, SIGUSR1
// changes late0 and tells so. Ends when its stdin does, or after ten minutes.
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";

const [file, many = "20"] = process.argv.slice(2);
const log = (entry) => appendFileSync(file, JSON.stringify(entry) + "\n");
const write = (message) =>
  process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");

const resources = Array.from({ length: Number(many) }, (_, n) => ({
  uri: `list://items/${n % 100}/item${n}.json`,
  name: `item${n}.json`,
  mimeType: "application/json",
  description: `Item number ${n}`,
  size: 20,
}));
resources.push(
  {
    uri: "list://odd/dot.png",
    name: "dot.png",
    title: "A green $(error) dot",
    mimeType: "image/png",
  },
  { uri: "list://odd/archive", name: "archive", mimeType: "application/zip" },
);
let late = 0;
let version = 1;
process.on("SIGUSR2", () => {
  resources.push({
    uri: `list://late/late${late}.md`,
    name: `late${late++}.md`,
    mimeType: "text/markdown",
  });
  write({ method: "notifications/resources/list_changed" });
});
process.on("SIGUSR1", () => {
  version++;
  write({
    method: "notifications/resources/updated",
    params: { uri: "list://late/late0.md" },
  });
});

// One green pixel.
const dot =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgaGD4DwACBAFAtZcVrQAAAABJRU5ErkJggg==";
const pageSize = 1000;
const cities = ["Amsterdam", "Athens", "Berlin", "Bern", "Brussels"];

function read({ uri }) {
  if (uri.endsWith(".png")) return { uri, mimeType: "image/png", blob: dot };
  if (uri.endsWith("archive"))
    return {
      uri,
      mimeType: "application/zip",
      blob: "UEsFBgAAAAAAAAAAAAAAAAAAAAAAAA==",
    };
  return {
    uri,
    mimeType: uri.endsWith(".md") ? "text/markdown" : "application/json",
    text: `{ "uri": "${uri}", "version": ${version} }\n`,
  };
}

const methods = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: {
      tools: {},
      prompts: {},
      completions: {},
      resources: { listChanged: true, subscribe: true },
    },
    serverInfo: { name: "lists", version: "1" },
  }),
  ping: () => ({}),
  "tools/list": () => ({
    tools: [
      { name: "count", description: "Counts", inputSchema: { type: "object" } },
    ],
  }),
  "resources/list": ({ cursor = "0" }) => {
    const end = Number(cursor) + pageSize;
    const page = resources.slice(Number(cursor), end);
    return end < resources.length
      ? { resources: page, nextCursor: String(end) }
      : { resources: page };
  },
  "resources/templates/list": () => ({
    resourceTemplates: [
      {
        uriTemplate: "list://weather/{city}{?unit}",
        name: "weather",
        title: "Weather",
        mimeType: "application/json",
      },
    ],
  }),
  "resources/subscribe": () => ({}),
  "resources/unsubscribe": () => ({}),
  "resources/read": (params) => ({ contents: [read(params)] }),
  "prompts/list": () => ({
    prompts: [
      {
        name: "travel",
        title: "Plan a journey",
        description: "Where to go, and when",
        arguments: [
          { name: "city", description: "Where to", required: true },
          { name: "month" },
        ],
      },
      { name: "hello", description: "Says hello" },
    ],
  }),
  "prompts/get": ({ name, arguments: { city, month } = {} }) => ({
    messages: [
      {
        role: "user",
        content: {
          type: "text",
          text: `SAY ${name} to ${city ?? "nowhere"} in ${month ?? "any month"}`,
        },
      },
    ],
  }),
  "completion/complete": ({ argument: { value } }) => ({
    completion: {
      values: cities.filter((city) =>
        city.toLowerCase().startsWith(value.toLowerCase()),
      ),
    },
  }),
};

log({ pid: process.pid });
createInterface({ input: process.stdin })
  .on("line", (line) => {
    const { id, method, params = {} } = JSON.parse(line);
    log({ method, params });
    if (id === undefined || method === undefined) return;
    if (methods[method]) write({ id, result: methods[method](params) });
    else write({ id, error: { code: -32601, message: `no method ${method}` } });
  })
  .on("close", () => process.exit());
setTimeout(() => process.exit(1), 600_000);
