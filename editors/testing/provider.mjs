// A provider that speaks OpenAI's chat completions on loopback. What it answers is told by words in the last user
// message:
//   CALL name {"json": …}   says so, calls that tool (of any server), then answers `Tool said: <its result>`
//   SLOW                    a word every 20 ms, ten on a line, for a minute
//   SHOW                    answers with the first line of the resource blocks and of the attached document
//   SAY …                   answers with the rest of the line
// Anything else: `Hello from the agent.`
// Usage: node provider.mjs LOG. Prints its port; ends when its stdin does, or after ten minutes.
import { appendFileSync } from "node:fs";
import { createServer } from "node:http";

const log = (entry) => appendFileSync(process.argv[2], JSON.stringify(entry) + "\n");
const pause = (ms) => new Promise((done) => setTimeout(done, ms));

const text = (message) =>
  typeof message?.content === "string" ? message.content : (message?.content ?? []).map((part) => part.text ?? "").join("");

function* words(line) {
  for (const word of line.split(/(?<= )/)) yield { content: word };
}

// The deltas of an answer; a number is a pause in ms.
function* answer({ messages, tools = [] }) {
  const last = messages.at(-1);
  const prompt = text(messages.findLast((message) => message.role === "user"));
  const call = /CALL (\w+) (\{.*\})/.exec(prompt);
  if (call && last.role !== "tool") {
    const name = tools.map((tool) => tool.function.name).find((name) => name.endsWith("__" + call[1]));
    const index = 0;
    yield { content: `Calling ${call[1]}.` };
    yield { tool_calls: [{ index, id: "call1", type: "function", function: { name: name ?? call[1], arguments: "" } }] };
    for (const part of call[2].match(/.{1,7}/g)) yield { tool_calls: [{ index, function: { arguments: part } }] };
  } else if (call) yield* words("Tool said: " + text(last));
  else if (prompt.includes("SLOW"))
    for (let n = 1; n <= 3000; n++) {
      yield { content: `word${n}${n % 10 ? " " : "\n"}` };
      yield 20;
    }
  else if (prompt.includes("SHOW")) yield { content: "Seen: " + (/<resource [^]*?>\s*(.*)/.exec(prompt)?.[1] ?? "nothing") };
  else yield* words(/SAY (.*)/.exec(prompt)?.[1] ?? "Hello from the agent.");
}

async function complete(body, response) {
  response.writeHead(200, { "content-type": "text/event-stream" });
  const send = (chunk) => response.write(`data: ${JSON.stringify({ id: "1", object: "chat.completion.chunk", model: "test", ...chunk })}\n\n`);
  let finish = "stop";
  for (const delta of answer(body)) {
    if (response.destroyed) return;
    if (typeof delta === "number") await pause(delta);
    else {
      if (delta.tool_calls) finish = "tool_calls";
      send({ choices: [{ index: 0, delta, finish_reason: null }] });
    }
  }
  send({ choices: [{ index: 0, delta: {}, finish_reason: finish }] });
  if (body.stream_options?.include_usage) send({ choices: [], usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 } });
  response.end("data: [DONE]\n\n");
}

const server = createServer(async (request, response) => {
  if (request.method === "GET") {
    response.setHeader("content-type", "application/json");
    return response.end(JSON.stringify({ object: "list", data: [{ id: "test", object: "model" }] }));
  }
  let data = "";
  for await (const chunk of request) data += chunk;
  const body = JSON.parse(data);
  log({ request: body });
  response.on("close", () => response.writableFinished || log({ closed: true }));
  await complete(body, response);
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
process.stdin.on("end", () => process.exit()).resume();
setTimeout(() => process.exit(1), 600_000);
