// A proxy server made of the reference's own model library and node's http module. Behind it, at the base URL UPSTREAM,
// is a mock of the providers.
//
//   node reference_server.mjs serve UPSTREAM TOKEN     serves on a free port of the loopback until its input ends; prints a
//                                                      line of JSON with its URL, and one for each answer when it is over
//   node reference_server.mjs record UPSTREAM FOLDER   writes an answer of each API, byte for byte, and how the reference's
//                                                      own client reads these bytes
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import http from "node:http";
import { streamProxy } from "@earendil-works/pi-agent-core";
import { createModels, createProvider } from "@earendil-works/pi-ai";
import { anthropicMessagesApi } from "@earendil-works/pi-ai/api/anthropic-messages.lazy";
import { openAICompletionsApi } from "@earendil-works/pi-ai/api/openai-completions.lazy";
import { openAIResponsesApi } from "@earendil-works/pi-ai/api/openai-responses.lazy";

const apis = {
  "anthropic-messages": anthropicMessagesApi(),
  "openai-completions": openAICompletionsApi(),
  "openai-responses": openAIResponsesApi(),
};

/// The library's events for a request that a client has posted.
function answer({ model: { id, api, provider }, context, options }, upstream, signal) {
  const model = {
    id,
    name: id,
    api,
    provider,
    baseUrl: api === "anthropic-messages" ? upstream : `${upstream}/v1`,
    reasoning: true,
    input: ["text"],
    cost: { input: 1, output: 2, cacheRead: 0, cacheWrite: 0 },
    contextWindow: 100_000,
    maxTokens: 10_000,
  };
  const models = createModels();
  models.setProvider(
    createProvider({
      id: provider,
      auth: { apiKey: { name: "the server's own key", resolve: async () => ({ auth: { apiKey: "sk-upstream" } }) } },
      models: [model],
      api: apis,
    }),
  );
  return models.streamSimple(model, context, { ...options, maxRetries: 0, signal });
}

/// An event as the wire has it: without the answer so far, but with what a client needs of that.
function wire({ partial, message, error, ...event }) {
  const block = partial?.content[event.contentIndex];
  const whole = message ?? error;
  switch (event.type) {
    case "text_end":
      return { ...event, contentSignature: block.textSignature };
    case "thinking_end":
      return { ...event, contentSignature: block.thinkingSignature };
    case "toolcall_start":
      return { ...event, id: block.id, toolName: block.name };
    case "done":
    case "error": {
      const { errorMessage, usage, providerThinkingLevel } = whole;
      return { ...event, errorMessage, usage, providerThinkingLevel };
    }
    default:
      return event;
  }
}

async function respond(request, response, upstream, token, tell) {
  const refuse = (status, error) =>
    response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify({ error }));
  if (request.headers.authorization !== `Bearer ${token}`) return refuse(401, "who are you?");
  if (request.method !== "POST" || request.url !== "/api/stream") return refuse(404, "nothing is here");
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = JSON.parse(Buffer.concat(chunks).toString("utf8"));
  const gone = new AbortController();
  response.on("close", () => gone.abort());
  response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-cache" });
  let last;
  for await (const event of answer(body, upstream, gone.signal)) {
    last = event;
    response.write(`data: ${JSON.stringify(wire(event))}\n\n`);
  }
  response.end();
  tell({ body, reason: last.reason, clientWentAway: gone.signal.aborted });
}

async function listen(handler) {
  const server = http.createServer(handler).listen(0, "127.0.0.1");
  await once(server, "listening");
  return { server, url: `http://127.0.0.1:${server.address().port}` };
}

async function record(upstream, folder) {
  const context = { messages: [{ role: "user", content: "What is the weather?", timestamp: 0 }] };
  const live = await listen((request, response) => respond(request, response, upstream, "token", () => {}));
  for (const api of Object.keys(apis)) {
    const model = { id: "m1", provider: "aimock", api };
    const response = await fetch(`${live.url}/api/stream`, {
      method: "POST",
      headers: { Authorization: "Bearer token", "Content-Type": "application/json" },
      body: JSON.stringify({ model, context, options: { reasoning: "high" } }),
    });
    const bytes = Buffer.from(await response.arrayBuffer());
    await writeFile(`${folder}/proxy-${api}.sse`, bytes);
    const replay = await listen((_, response) => response.writeHead(200).end(bytes));
    const read = await streamProxy(model, context, { authToken: "token", proxyUrl: replay.url }).result();
    await writeFile(`${folder}/proxy-${api}.json`, `${JSON.stringify(read, null, 2)}\n`);
    replay.server.close();
  }
  live.server.close();
}

const [mode, upstream, argument] = process.argv.slice(2);
if (mode === "record") {
  await record(upstream, argument);
} else {
  const tell = (value) => console.log(JSON.stringify(value));
  tell({ url: (await listen((request, response) => respond(request, response, upstream, argument, tell))).url });
  process.stdin.resume().on("end", () => process.exit());
}
