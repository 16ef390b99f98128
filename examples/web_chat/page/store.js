// What the page knows of a conversation: the fold of a snapshot and the steps after it. No DOM here.

export function emptyState() {
  return {
    messages: [],
    answer: null,
    calls: [],
    waiting: [],
    questions: [],
    running: false,
    ending: null,
    timeline: [],
    /** How much the server's clock is ahead of this page's. */
    ahead: 0,
  };
}

/** The state that a snapshot shows. */
export function load(snapshot) {
  const { now, ...state } = snapshot;
  return { ...state, ahead: now - Date.now() };
}

/** How many marks of a run are kept, here as on the server: a long run's oldest are forgotten. */
const MOST_MARKS = 500;

/** Takes over one step. */
export function apply(state, step) {
  if (step.mark) {
    if (step.type === "run_start") state.timeline = [];
    if (state.timeline.length === MOST_MARKS) state.timeline.shift();
    state.timeline.push(step.mark);
  }
  switch (step.type) {
    case "run_start":
      state.running = true;
      state.ending = null;
      break;
    case "run_end":
      state.running = false;
      state.ending = step.ending;
      break;
    case "turn_end":
      state.calls = [];
      break;
    case "answer_start":
      state.answer = { blocks: [] };
      break;
    case "answer":
      grow(state.answer, step);
      break;
    case "message":
      if (step.shown.message.role === "assistant") state.answer = null;
      state.messages.push(step.shown);
      break;
    case "call_start":
      state.calls.push(step.call);
      break;
    case "call_update": {
      const call = state.calls.find((known) => known.call === step.call);
      if (call) call.progress = step.progress;
      break;
    }
    case "call_end":
      state.calls = state.calls.map((known) => (known.call === step.call.call ? step.call : known));
      break;
    case "asked":
      state.questions.push(step.question);
      break;
    case "answered":
      state.questions = state.questions.filter((known) => known.question !== step.question);
      break;
    case "waiting":
      state.waiting = step.waiting;
      break;
  }
}

function grow(answer, step) {
  if (!answer) return;
  if (step.block) {
    answer.blocks.push(step.block);
    return;
  }
  const block = answer.blocks.findLast((known) => known.index === step.index);
  if (block) block.text += step.text;
}

/** The blocks of a complete answer, in the shape of one that streams. */
export function blocksOf(message) {
  return message.content.map((block, index) => {
    switch (block.type) {
      case "thinking":
        return { index, kind: "thinking", text: block.thinking };
      case "toolCall":
        return { index, kind: "toolCall", id: block.id, name: block.name, arguments: block.arguments, text: "" };
      default:
        return { index, kind: "text", text: block.text ?? "" };
    }
  });
}

/**
 * How each tool call of an answer is: `at` is the answer's place among the messages, or the number of messages for the
 * one that streams. Ids may repeat, so calls and results count in order.
 */
export function cardsOf(state, at, blocks) {
  const results = [];
  for (let next = at + 1; next < state.messages.length; next++) {
    const { message } = state.messages[next];
    if (message.role === "assistant") break;
    if (message.role === "toolResult") results.push(message);
  }
  const isLast = !state.messages.slice(at + 1).some(({ message }) => message.role === "assistant");
  const calls = isLast && at < state.messages.length && !state.answer ? [...state.calls] : [];
  const take = (list, matches) => {
    const found = list.findIndex(matches);
    return found < 0 ? undefined : list.splice(found, 1)[0];
  };
  return blocks
    .filter((block) => block.kind === "toolCall")
    .map((block) => {
      const call = take(calls, (known) => known.id === block.id);
      const result = take(results, (known) => known.toolCallId === block.id);
      const question = call && state.questions.find((known) => known.call === call.call);
      return cardOf(block, call, result, question, state);
    });
}

function cardOf(block, call, result, question, state) {
  const card = {
    name: block.name,
    arguments: question?.arguments ?? block.arguments ?? call?.arguments ?? null,
    argumentsText: block.text,
    progress: call?.progress ?? null,
    question: question?.question ?? null,
    result: null,
    duration: null,
    status: "writing",
  };
  if (result || call?.ended) {
    const ended = call?.ended;
    card.result = result ? textsOf(result.content) : ended.text;
    card.duration = (result ? result.durationMs : ended.durationMs) ?? null;
    const failed = result ? result.isError : ended.isError;
    const madeUp = result ? result.madeUp : ended.madeUp;
    card.status = !failed ? "done" : card.duration === null ? "refused" : madeUp ? "stopped" : "failed";
  } else if (question) {
    card.status = "asking";
  } else if (call) {
    card.status = "running";
  } else if (block.arguments && state.running) {
    card.status = "next";
  } else if (block.arguments) {
    card.status = "stopped";
  }
  return card;
}

/** The texts of a list of content blocks, or of a plain text. */
export function textsOf(content) {
  if (typeof content === "string") return content;
  return content.filter((block) => block.type === "text").map((block) => block.text).join("");
}
