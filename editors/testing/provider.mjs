// A provider that speaks OpenAI's chat completions on loopback. What it answers is told by words in the last user
// message:
//   CALL name {"json": …}   says so, calls that tool (of any server); more such lines are called one after the other; then
//                           answers `Tool said: <the last result>`
//   SLOW                    a word every 20 ms, ten on a line, for a minute
//   HANG                    says nothing at all until it is broken off
//   THINK …                 the rest of the line as reasoning, before whatever else
//   FAIL status             that HTTP status, with an error
//   SHOW                    answers with the first line of the resource blocks and of the attached document
//   SAY …                   answers with the rest of the line; \n in it are line breaks
// Anything else: `Hello from the agent.`
// CALL submit_plan {"steps": …} makes plans; a step's task has words of its own. In a team the reviewer approves; where
// the task says REVISE it first sends the step back.
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

function* call(name, json) {
  yield { content: `Calling ${name.replace(/^.*__/, "")}.` };
  yield { tool_calls: [{ index: 0, id: `call${++calls}`, type: "function", function: { name, arguments: "" } }] };
  for (const part of json.match(/.{1,7}/g)) yield { tool_calls: [{ index: 0, function: { arguments: part } }] };
}
let calls = 0;

// The deltas of an answer; a number is a pause in ms.
function* answer({ messages, tools = [] }) {
  const last = messages.at(-1);
  const asked = messages.findLastIndex((message) => message.role === "user");
  const offered = tools.map((tool) => tool.function.name);
  let prompt = text(messages[asked]);
  if (offered.includes("submit_review")) {
    const first = messages.filter((message) => message.role === "user").length === 1;
    const revise = first && prompt.includes("REVISE");
    const review = revise ? { verdict: "revise", notes: "Not yet." } : { verdict: "approve", notes: "Looked at it." };
    return yield* call("submit_review", JSON.stringify(review));
  }
  // Whoever carries out a step is told the whole request as well.
  if (!offered.includes("submit_plan")) prompt = prompt.replace(/<user_request[^]*?<\/user_request>/g, "");
  const thought = /THINK (.*)/.exec(prompt);
  if (thought && last.role !== "tool") for (const { content } of words(thought[1])) yield { reasoning_content: content };
  const wanted = [...prompt.matchAll(/CALL (\w+) (\{.*\})/g)];
  const made = messages.slice(asked).filter((message) => message.role === "tool").length;
  if (made < wanted.length) {
    const [, name, json] = wanted[made];
    yield* call(offered.find((each) => each.endsWith("__" + name)) ?? name, json);
  } else if (wanted.length) yield* words("Tool said: " + text(last));
  else if (prompt.includes("SLOW"))
    for (let n = 1; n <= 3000; n++) {
      yield { content: `word${n}${n % 10 ? " " : "\n"}` };
      yield 20;
    }
  else if (prompt.includes("SHOW")) yield { content: "Seen: " + (/<resource [^]*?>\s*(.*)/.exec(prompt)?.[1] ?? "nothing") };
  else yield* words(/SAY (.*)/.exec(prompt)?.[1].replaceAll("\\n", "\n") ?? "Hello from the agent.");
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
  const prompt = text(body.messages.findLast((message) => message.role === "user"));
  const [, status] = /FAIL (\d+)/.exec(prompt) ?? [];
  if (status) {
    response.writeHead(Number(status), { "content-type": "application/json" });
    return response.end(JSON.stringify({ error: { message: "The provider was told to fail." } }));
  }
  if (prompt.includes("HANG")) return;
  await complete(body, response);
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
process.stdin.on("end", () => process.exit()).resume();
setTimeout(() => process.exit(1), 600_000);
