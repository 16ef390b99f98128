// The timeline of a run, drawn from its marks: turns, the model's time, and tools beside each other.

import { duration, el } from "./dom.js";
import { plainly } from "./plain.js";

/** Turns with the spans in them, from marks. What is still open ends now. */
export function spansOf(marks, now) {
  const begin = marks[0]?.at ?? now;
  const end = marks.at(-1)?.moment === "run_end" ? marks.at(-1).at : Math.max(now, marks.at(-1)?.at ?? now);
  const run = { begin, end, turns: [] };
  let turn = null;
  for (const mark of marks) {
    if (mark.moment === "turn_start") {
      // The model is asked when a turn begins; when exactly, its answer tells.
      turn = { begin: mark.at, end: null, model: { begin: mark.at, end: null, flaw: "" }, calls: [] };
      run.turns.push(turn);
    }
    if (!turn) continue;
    if (mark.moment === "turn_end") turn.end = mark.at;
    else if (mark.moment === "answer_start") turn.model.begin = mark.at;
    else if (mark.moment === "answer_end") Object.assign(turn.model, { end: mark.at, flaw: mark.flaw ?? "" });
    else if (mark.moment === "call_start") turn.calls.push({ call: mark.call, name: mark.name, begin: mark.at, end: null, flaw: "" });
    else if (mark.moment === "call_end") {
      const call = turn.calls.find((known) => known.call === mark.call);
      if (call) Object.assign(call, { end: mark.at, flaw: mark.flaw ?? "" });
    }
  }
  for (const open of run.turns.flatMap((turn) => [turn, turn.model, ...turn.calls])) {
    if (open.end === null) open.end = end;
  }
  return run;
}

/** Spans in as few lanes as they need not to overlap. */
export function lanesOf(spans) {
  const lanes = [];
  for (const span of spans) {
    const lane = lanes.find((lane) => lane.at(-1).end <= span.begin);
    if (lane) lane.push(span);
    else lanes.push([span]);
  }
  return lanes;
}

/** Draws the timeline of a run into an element. */
export function drawTimeline(node, state) {
  if (state.timeline.length === 0) {
    node.replaceChildren(el("p", { className: "muted" }, "It is drawn when the agent works."));
    return;
  }
  const run = spansOf(state.timeline, Date.now() + state.ahead);
  const whole = Math.max(run.end - run.begin, 1);
  const place = (span, className, label) => {
    const bar = el("div", { className, title: `${label}: ${duration(span.end - span.begin)}` }, label);
    bar.style.left = `${(100 * (span.begin - run.begin)) / whole}%`;
    bar.style.width = `${(100 * (span.end - span.begin)) / whole}%`;
    return bar;
  };
  const track = (className, bars) => el("div", { className: `track ${className}` }, ...bars);
  const turns = run.turns.map((turn, at) => place(turn, "turn", String(at + 1)));
  const models = run.turns.map(({ model }) => place(model, `bar model${model.flaw && " flawed"}`, ""));
  const lanes = lanesOf(run.turns.flatMap((turn) => turn.calls)).map((lane) =>
    track("", lane.map((call) => place(call, `bar tool${call.flaw && " flawed"}`, plainly(call.name)))),
  );
  node.replaceChildren(
    el("p", {}, summary(run, state)),
    // The list below says the same in words.
    el("div", { className: "chart", "aria-hidden": "true" }, track("turns", turns), track("", models), ...lanes),
    el(
      "div",
      { className: "legend", "aria-hidden": "true" },
      el("span", { className: "key model" }, "model"),
      el("span", { className: "key tool" }, "tool"),
      el("span", { className: "key flawed" }, "failed, stopped or not run"),
    ),
    el("ol", {}, ...run.turns.map(turnItem)),
  );
}

function summary(run, state) {
  const turns = `${run.turns.length} ${run.turns.length === 1 ? "turn" : "turns"}`;
  const answers = state.messages.filter(({ message }) => message.role === "assistant" && message.timestamp >= run.begin);
  const sum = (field) => answers.reduce((sum, { message }) => sum + (message.usage?.[field] ?? 0), 0);
  const [read, wrote] = [sum("input") + sum("cacheRead"), sum("output")];
  const tokens = read + wrote > 0 ? `, ${read} tokens read, ${wrote} written` : "";
  return `${turns}, ${duration(run.end - run.begin)}${tokens}`;
}

function turnItem(turn) {
  const part = (name, span) => `${name} ${duration(span.end - span.begin)}${span.flaw ? ` (${span.flaw})` : ""}`;
  return el("li", {}, [part("model", turn.model), ...turn.calls.map((call) => part(plainly(call.name), call))].join(", "));
}
