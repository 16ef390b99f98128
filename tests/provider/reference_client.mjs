// The reference's own agent and proxy client against a proxy server: the base URL and the token are the arguments.
// Prints one line of JSON for each scenario.
import { Agent, streamProxy } from "@earendil-works/pi-agent-core";

const [proxyUrl, authToken] = process.argv.slice(2);

const weather = {
  name: "get_weather",
  label: "Weather",
  description: "Tells the weather.",
  parameters: {
    type: "object",
    properties: { city: { type: "string" }, days: { type: "number" } },
    required: ["city", "days"],
  },
  execute: async (_id, { city, days }) => ({
    content: [{ type: "text", text: `${days} days of rain in ${city}` }],
    details: {},
  }),
};

function agent() {
  return new Agent({
    initialState: {
      systemPrompt: "You are terse.",
      model: { id: "m1", provider: "p", api: "a" },
      tools: [weather],
    },
    streamFn: (model, context, options) => streamProxy(model, context, { ...options, authToken, proxyUrl }),
  });
}

const say = (scenario, value) => console.log(JSON.stringify({ scenario, ...value }));

const tools = agent();
const seen = [];
tools.subscribe((event) => {
  if (event.type === "message_update") seen.push(event.assistantMessageEvent.type);
});
await tools.prompt("What is the weather?");
say("tools", { messages: tools.state.messages, seen });

const aborted = agent();
aborted.subscribe((event) => {
  if (event.type === "message_update" && event.assistantMessageEvent.type === "text_delta") aborted.abort();
});
await aborted.prompt("Never stop.");
say("abort", { messages: aborted.state.messages });

const failed = agent();
await failed.prompt("Fail.");
say("error", { messages: failed.state.messages });
