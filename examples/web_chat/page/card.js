// A tool call as a card: what is called with what, how far it is, what came of it, and whether it may run.

import { duration, el, say } from "./dom.js";
import { argumentsText, plainly } from "./plain.js";

const STATUS = {
  writing: "being written",
  next: "comes next",
  asking: "needs your permission",
  running: "running",
  done: "done",
  failed: "failed",
  refused: "did not run",
  stopped: "stopped",
};

export class Card {
  /** `approve(question, decision)` answers a question. */
  constructor(approve) {
    this.question = null;
    this.name = el("strong");
    this.status = el("span", { className: "pill" });
    this.arguments = el("pre", { className: "arguments" });
    this.progress = el("p", { className: "progress" });
    this.result = el("pre", { className: "result" });
    const button = (label, decision, className) =>
      el("button", { type: "button", className, on: { click: () => this.#decide(approve, decision) } }, label);
    this.buttons = el(
      "div",
      { className: "buttons", role: "group" },
      button("Allow", "allow", "primary"),
      button("Always allow", "always"),
      button("Refuse", "refuse", "danger"),
    );
    this.node = el(
      "article",
      { className: "card", tabIndex: -1 },
      el("header", {}, this.name, this.status),
      this.arguments,
      this.progress,
      this.buttons,
      this.result,
    );
  }

  /** Shows a call, as `cardsOf` gives it. */
  update(card) {
    this.question = card.question;
    this.node.dataset.status = card.status;
    const name = plainly(card.name);
    say(this.name, name);
    const took = card.duration === null ? "" : `, ${duration(card.duration)}`;
    say(this.status, STATUS[card.status] + took);
    this.node.setAttribute("aria-label", `Tool call ${name}: ${STATUS[card.status]}`);
    show(this.arguments, argumentsText(card));
    show(this.progress, card.status === "running" ? (card.progress ?? "") : "");
    show(this.result, card.result ?? "");
    // Long results scroll, and what scrolls can be reached with the keyboard.
    this.result.tabIndex = (card.result ?? "").length > 300 ? 0 : -1;
    this.buttons.hidden = card.question === null;
    this.buttons.setAttribute("aria-label", `May ${name} run?`);
  }

  #decide(approve, decision) {
    // The buttons go away, and the focus should not be lost with them.
    this.node.focus();
    approve(this.question, decision);
  }

  /** The first thing to press. */
  get firstButton() {
    return this.buttons.querySelector("button");
  }
}

function show(node, text) {
  say(node, text);
  node.hidden = text === "";
}
