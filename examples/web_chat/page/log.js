// The conversation. A transcript only grows, so a message that is shown keeps its element for good.

import { Card } from "./card.js";
import { el, say } from "./dom.js";
import { renderInto } from "./markdown.js";
import { blocksOf, cardsOf, textsOf } from "./store.js";

export class Log {
  constructor(node, approve) {
    this.node = node;
    this.approve = approve;
    this.clear();
  }

  clear() {
    this.node.replaceChildren();
    /** One entry for each message; those without an element of their own are null. */
    this.entries = [];
    /** The answer that streams. */
    this.live = null;
    /** Messages before this one do not change any more. */
    this.settled = 0;
  }

  render(state) {
    if (state.messages.length < this.entries.length) this.clear();
    for (let at = this.entries.length; at < state.messages.length; at++) {
      this.entries.push(this.#enter(state.messages[at]));
    }
    let lastAnswer = this.settled;
    for (let at = this.settled; at < state.messages.length; at++) {
      const shown = state.messages[at];
      if (shown.message.role !== "assistant") continue;
      this.#update(this.entries[at], state, at, blocksOf(shown.message), shown);
      lastAnswer = at;
    }
    this.settled = lastAnswer;
    if (state.answer) {
      this.live ??= this.#addAnswer();
      this.#update(this.live, state, state.messages.length, state.answer.blocks, null);
    } else if (this.live) {
      this.live.node.remove();
      this.live = null;
    }
  }

  /** The first card that asks something. */
  askingCard() {
    for (const entry of [...this.entries, this.live]) {
      const asking = entry?.blocks?.find((block) => block.card?.question);
      if (asking) return asking.card;
    }
    return null;
  }

  #enter({ seen, message }) {
    switch (message.role) {
      case "assistant": {
        // The one that streamed is this one.
        const entry = this.live ?? this.#addAnswer();
        this.live = null;
        return entry;
      }
      case "toolResult":
        return null; // Its card shows it.
      case "user":
        return this.#add("user", "You", textsOf(message.content), seen);
      case "note":
        return this.#add("note", "Note", message.text, seen);
      case "notification":
        return this.#add("notification", "Notification", message.text, seen);
      default:
        return this.#add("notification", message.role, JSON.stringify(message), seen);
    }
  }

  #add(kind, label, text, seen) {
    const node = el(
      "article",
      { className: `message ${kind}`, "aria-label": label },
      el("h2", {}, label, kind === "user" ? null : el("span", { className: "chip" }, seen ? "sent to the model" : "not sent to the model")),
      el("p", { className: "plain" }, text),
    );
    this.#append(node);
    return { node };
  }

  #addAnswer() {
    const tags = el("p", { className: "tags" });
    const body = el("div");
    const node = el("article", { className: "message assistant", "aria-label": "Answer" }, el("h2", {}, "Agent"), body, tags);
    this.#append(node);
    return { node, body, tags, blocks: [] };
  }

  #append(node) {
    if (this.live) this.live.node.before(node);
    else this.node.append(node);
  }

  #update(entry, state, at, blocks, shown) {
    const cards = cardsOf(state, at, blocks);
    entry.node.classList.toggle("streaming", shown === null);
    blocks.forEach((block, place) => {
      const known = entry.blocks[place];
      if (known?.kind !== block.kind) {
        entry.blocks.splice(place).forEach((old) => old.node.remove());
        entry.blocks.push(this.#blockView(block.kind, shown === null));
        entry.body.append(entry.blocks[place].node);
      }
      const view = entry.blocks[place];
      if (block.kind === "text") renderInto(view.node, block.text);
      else if (block.kind === "thinking") say(view.text, block.text);
      else view.card.update(cards.shift());
    });
    entry.blocks.splice(blocks.length).forEach((old) => old.node.remove());
    const tags = tagsOf(shown);
    say(entry.tags, tags);
    entry.tags.hidden = tags === "";
    entry.node.dataset.stop = shown?.message.stopReason ?? "pending";
  }

  #blockView(kind, isLive) {
    switch (kind) {
      case "thinking": {
        const text = el("p", { className: "plain" });
        // Read as it comes; a conversation that is opened later shows it folded.
        const node = el("details", { className: "thinking", open: isLive }, el("summary", {}, "Thinking"), text);
        return { kind, node, text };
      }
      case "toolCall": {
        const card = new Card(this.approve);
        return { kind, node: card.node, card };
      }
      default:
        return { kind, node: el("div", { className: "markdown" }) };
    }
  }
}

function tagsOf(shown) {
  if (!shown) return "";
  const { stopReason, errorMessage } = shown.message;
  switch (stopReason) {
    case "aborted":
      return "Stopped. The model will not see this answer.";
    case "error":
      return `Failed: ${errorMessage ?? "no reason was given"} The model will not see this answer.`;
    case "length":
      return "Cut off: the answer reached its greatest length.";
    default:
      return "";
  }
}

/** What the model would be sent now, message by message. */
export function renderModelView(node, messages) {
  const label = { system: "System", user: "User", assistant: "Assistant", toolResult: "Tool result" };
  const shown = messages.map((message) =>
    el("article", { className: "sent" }, el("h2", {}, label[message.role] ?? message.role), ...partsOf(message)),
  );
  node.replaceChildren(
    el("p", { className: "muted" }, "This is what the model would be sent now, in order. Notifications and answers that failed or were stopped are not in it."),
    ...shown,
  );
}

function partsOf(message) {
  const pre = (text) => el("pre", {}, text);
  const parts = [];
  if (message.role === "assistant") {
    for (const block of blocksOf(message)) {
      if (block.kind === "toolCall") parts.push(pre(`calls ${block.name} ${JSON.stringify(block.arguments)}`));
      else if (block.kind === "thinking") parts.push(pre(`thinks: ${block.text}`));
      else parts.push(pre(block.text));
    }
  } else {
    if (message.role === "toolResult") parts.push(pre(`of ${message.toolName}${message.isError ? ", an error" : ""}:`));
    parts.push(pre(textsOf(message.content)));
  }
  const tools = (message.toolsAdded ?? []).map((tool) => `may call ${tool.name}: ${tool.description}`);
  if (tools.length > 0) parts.push(pre(tools.join("\n")));
  return parts;
}
