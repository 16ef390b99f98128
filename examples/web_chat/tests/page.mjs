// Tests of the page's modules that need no browser.
//
//   node page.mjs URL

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";

const url = process.argv[2];

setTimeout(() => {
  console.error("the test of the page's modules took too long");
  process.exit(1);
}, 60_000).unref();

/** A module of the page. Its imports are only needed where there is a document. */
async function load(name) {
  const source = await readFile(new URL(`../page/${name}`, import.meta.url), "utf8");
  const alone = source.replace(/^import .*$/gm, "");
  return import(`data:text/javascript,${encodeURIComponent(alone)}`);
}

const store = await load("store.js");
const markdown = await load("markdown.js");
const plain = await load("plain.js");
const timeline = await load("timeline.js");

// --- Markdown -------------------------------------------------------------------------------------------------------

const paragraph = (...inline) => ({ type: "paragraph", inline });
const link = (text, url) => ({ type: "link", text, url });

for (const [text, blocks] of [
  ["", []],
  ["one\ntwo\n\nthree", [paragraph("one\ntwo"), paragraph("three")]],
  ["**a** and *b* and `c*d`", [paragraph({ type: "strong", inline: ["a"] }, " and ", { type: "em", inline: ["b"] }, " and ", { type: "code", text: "c*d" })]],
  ["**half", [paragraph("**half")]],
  ["2 * 3 * 4, snake_case_name", [paragraph("2 * 3 * 4, snake_case_name")]],
  ["\\*not\\* this", [paragraph("*not* this")]],
  ["# Title\ntext", [{ type: "heading", level: 1, inline: ["Title"] }, paragraph("text")]],
  ["- a\n  more\n- b\n\n1. c", [{ type: "list", ordered: false, items: [["a\nmore"], ["b"]] }, { type: "list", ordered: true, start: 1, items: [["c"]] }]],
  ["```rust\nlet a = `b`;\n\n**no**\n```\nafter", [{ type: "code", language: "rust", text: "let a = `b`;\n\n**no**" }, paragraph("after")]],
  ["```\nstill streaming", [{ type: "code", language: "", text: "still streaming" }]],
  ["<b>x</b>", [paragraph("<b>x</b>")]],
  ["[a](https://example.com/x)", [paragraph(link("a", "https://example.com/x"))]],
  ["[a](mailto:me@example.com)", [paragraph(link("a", "mailto:me@example.com"))]],
  ["[a](javascript:alert(1))", [paragraph("[a](javascript:alert(1))")]],
  ["[a](data:text/html,x)", [paragraph("[a](data:text/html,x)")]],
  ["[a](//example.com)", [paragraph("[a](//example.com)")]],
]) {
  assert.deepEqual(markdown.parse(text), blocks, JSON.stringify(text));
}

for (const unsafe of ["javascript:1", "JaVaScRiPt:1", " java\nscript:1", "vbscript:1", "data:text/html,1", "file:///etc", "/relative", "https://a b", "http:\u0000//x", "x"]) {
  assert.equal(markdown.safeUrl(unsafe), null, unsafe);
}

// What is long and hopeless is still read in time that grows with its length.
for (const [piece, end] of [
  ...["*", "**a ", "_a", "[", "[a](", "`", "``", "- ", "1. ", "> ", "\\"].map((piece) => [piece, ""]),
  ["[", "](https://example.com/ x)"],
  ["[](https://x", " )"],
]) {
  const begin = performance.now();
  markdown.parse(piece.repeat(100_000 / piece.length) + end);
  assert.ok(performance.now() - begin < 2000, `${piece} takes too long`);
}
for (const start of ["```", "# ", "- ", "1. "]) {
  const begin = performance.now();
  markdown.parse(`${start}${" ".repeat(100_000)}\u2028x y`);
  assert.ok(performance.now() - begin < 2000, `${start} and spaces take too long`);
}

// --- What a person is asked about -----------------------------------------------------------------------------------

assert.equal(plain.plainly("a\u202eb\u200bc\nd\u{e0041}"), "a\\u{202e}b\\u{200b}c\\u{a}d\\u{e0041}");
assert.equal(
  plain.argumentsText({ arguments: { "na\nme": "first\npath: /\u2066tmp", list: [1] } }),
  "na\\u{a}me: first\n    path: /\\u{2066}tmp\nlist: [1]",
);
assert.equal(plain.argumentsText({ arguments: null, argumentsText: '{"a":"\u001b' }), '{"a":"\\u{1b}');

// --- The fold -------------------------------------------------------------------------------------------------------

const long = store.emptyState();
for (let at = 0; at < 600; at++) store.apply(long, { type: "turn_start", mark: { moment: "turn_start", at } });
assert.deepEqual([long.timeline.length, long.timeline[0].at], [500, 100]);

// --- Timeline -------------------------------------------------------------------------------------------------------

const marks = [
  { moment: "run_start", at: 100 },
  { moment: "turn_start", at: 100 },
  { moment: "answer_start", at: 110 },
  { moment: "answer_end", at: 150 },
  { moment: "call_start", at: 150, call: 1, name: "a" },
  { moment: "call_start", at: 150, call: 2, name: "b" },
  { moment: "call_end", at: 170, call: 1, name: "a", flaw: "failed" },
];
const run = timeline.spansOf(marks, 200);
assert.deepEqual(run, {
  begin: 100,
  end: 200,
  turns: [
    {
      begin: 100,
      end: 200,
      model: { begin: 110, end: 150, flaw: "" },
      calls: [
        { call: 1, name: "a", begin: 150, end: 170, flaw: "failed" },
        { call: 2, name: "b", begin: 150, end: 200, flaw: "" },
      ],
    },
  ],
});
assert.deepEqual(timeline.lanesOf(run.turns[0].calls).map((lane) => lane.length), [1, 1]);
assert.deepEqual(timeline.lanesOf([{ begin: 1, end: 2 }, { begin: 2, end: 3 }]).map((lane) => lane.length), [2]);

// --- Pages that come late -------------------------------------------------------------------------------------------

const post = async (path, body = {}) => {
  const response = await fetch(new URL(path, url), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  assert.equal(response.status, 200, await response.clone().text());
  return response.json();
};

/** Reads a conversation's events with the page's code. */
function read(path) {
  const reader = { state: null, last: 0, steps: 0 };
  const abort = new AbortController();
  const take = (event) => {
    const fields = Object.fromEntries(event.split("\n").map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 2)]));
    if (!fields.data) return;
    const data = JSON.parse(fields.data);
    const id = Number(fields.id);
    if (fields.event === "snapshot") {
      reader.state = store.load(data);
    } else {
      assert.equal(id, reader.last + 1, "a step is missing or came twice");
      store.apply(reader.state, data);
      reader.steps += 1;
    }
    reader.last = id;
  };
  reader.done = (async () => {
    try {
      const response = await fetch(new URL(`${path}/events`, url), { signal: abort.signal });
      let text = "";
      for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
        text += chunk;
        const events = text.split("\n\n");
        text = events.pop();
        events.forEach(take);
      }
    } catch (error) {
      if (error.name !== "AbortError") throw error;
    }
  })();
  reader.close = () => {
    abort.abort();
    return reader.done;
  };
  return reader;
}

const until = async (what, isSo) => {
  const begin = performance.now();
  while (!isSo()) {
    assert.ok(performance.now() - begin < 20_000, `it never came to this: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
};

// A step that the server could not write leads to a new listener, and so to a snapshot.
const sources = [];
globalThis.EventSource = class {
  constructor() {
    this.listeners = {};
    sources.push(this);
  }
  addEventListener(kind, listener) {
    this.listeners[kind] = listener;
  }
  close() {
    this.closed = true;
  }
};
const listening = (await load("api.js")).listen("x", () => {}, () => {});
sources[0].listeners.unreadable({});
assert.ok(sources[0].closed);
await until("another listener is there", () => sources.length === 2);
listening.close();
assert.ok(sources[1].closed);

const { id } = await post("/api/conversations");
const path = `/api/conversations/${id}`;
const readers = [read(path)];
const [first] = readers;
await until("the first reader is there", () => first.state);

/** Runs a prompt to its end. At changes of the first reader's state other ones come. */
async function runWith(prompt, onChange = () => {}) {
  const runs = first.state.timeline[0]?.at;
  await post(`${path}/prompt`, { text: prompt });
  await until("it runs", () => first.state.timeline[0]?.at !== runs);
  const most = readers.length + 30;
  let seen = 0;
  while (first.state.running) {
    if (first.last !== seen) {
      seen = first.last;
      await onChange();
      if (readers.length < most) readers.push(read(path));
    }
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

await runWith("Two searches at once");
await runWith("Plan my week", async () => {
  if (first.state.calls.length === 2 && first.state.waiting.length === 0) {
    await post(`${path}/follow_up`, { text: "What is 2 * 21?" });
    await post(`${path}/steer`, { text: "Never mind" });
  }
});
await runWith("Delete a note", async () => {
  const [question] = first.state.questions;
  if (question) await post(`${path}/approve`, { question: question.question, decision: "allow" }).catch(() => {});
});
await runWith("Fail once");
await post(`${path}/note`, { text: "for the model" });

const settled = { ...first.state, ahead: 0 };
await until("everybody is up to date", () => readers.every((reader) => reader.last === first.last));
assert.ok(readers.length > 20, `only ${readers.length} readers`);
for (const reader of readers) assert.deepEqual({ ...reader.state, ahead: 0 }, { ...first.state, ahead: 0 });
assert.ok(settled.messages.length > 15);
assert.ok(readers.reduce((sum, reader) => sum + reader.steps, 0) > 100, "nobody was told steps");

// Every card of what is now history has its result.
settled.messages.forEach(({ message }, at) => {
  if (message.role !== "assistant") return;
  for (const card of store.cardsOf(settled, at, store.blocksOf(message))) {
    assert.equal(card.status, "done");
    assert.ok(card.result.length > 0);
  }
});
await Promise.all(readers.map((reader) => reader.close()));
