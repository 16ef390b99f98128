// The page: joins the server's events, the view, and what the person does.

import { get, listen, pathOf, post } from "./api.js";
import { el, say } from "./dom.js";
import { Log, renderModelView } from "./log.js";
import { plainly } from "./plain.js";
import { apply, emptyState, load, textsOf } from "./store.js";
import { drawTimeline } from "./timeline.js";

const $ = (id) => document.getElementById(id);
const view = {
  announcer: $("announcer"),
  asked: $("asked"),
  awaiting: $("awaiting"),
  composer: $("composer"),
  connection: $("connection"),
  fault: $("fault"),
  followUp: $("follow-up"),
  hint: $("hint"),
  latest: $("latest"),
  log: $("log"),
  model: $("model-view"),
  note: $("note"),
  outcome: $("outcome"),
  seen: $("seen"),
  send: $("send"),
  stop: $("stop"),
  text: $("text"),
  timeline: $("timeline-body"),
  waiting: $("waiting"),
  welcome: $("welcome"),
};

let id = null;
let state = emptyState();
let connection = null;
let isModelView = false;
const log = new Log(view.log, (question, decision) => act("approve", { question, decision }));

// --- The conversation, and its events -------------------------------------------------------------------------------

/** Shows the conversation that the address names, or the welcome. */
function open() {
  const named = /^#([0-9a-f]{32})$/.exec(location.hash)?.[1] ?? null;
  if (named === id && connection) return;
  connection?.close();
  connection = null;
  id = named;
  state = emptyState();
  log.clear();
  showModelView(false);
  fault("");
  say(view.connection, "");
  if (id) connection = listen(id, hear, showConnection);
  draw();
}

let creating = null;

/** The conversation that is open. The first thing that is said makes one; not if another was opened by then. */
async function ensureConversation() {
  if (id) return id;
  creating ??= post("/api/conversations").finally(() => (creating = null));
  const created = await creating;
  if (id === null) {
    // Not by `location.hash`: the page is already showing it.
    history.replaceState(null, "", `#${created.id}`);
    id = created.id;
    connection = listen(id, hear, showConnection);
  }
  if (id !== created.id) throw new Error("Another conversation was opened before this could be sent.");
  return id;
}

function hear(kind, data) {
  if (kind === "snapshot") {
    state = load(data);
    refreshModelView();
  } else {
    apply(state, data);
    announce(data);
    if (data.type === "message") refreshModelView();
  }
  drawSoon();
}

function showConnection(status) {
  const words = {
    connected: "",
    lost: "Connection lost. Trying to reconnect…",
    gone: "This conversation is not on the server any more. Start a new one.",
  };
  document.body.dataset.connection = status;
  say(view.connection, words[status]);
}

// --- What the person does -------------------------------------------------------------------------------------------

/** Does something on the server; what is refused is told in words. */
async function act(what, body) {
  fault("");
  try {
    return await post(`${pathOf(id)}/${what}`, body);
  } catch (error) {
    fault(error.message);
    return null;
  }
}

/** Sends what is typed. It stays in the box until the server has it. */
async function sendText(what) {
  const text = view.text.value.trim();
  if (!text) return;
  if (await tell(what, text)) {
    if (view.text.value.trim() === text) setText("");
  }
}

/** Gives the server a text; `true` once it has it. */
async function tell(what, text) {
  fault("");
  try {
    const path = pathOf(await ensureConversation());
    await post(`${path}/${what}`, { text }).catch((error) => {
      // Another tab was faster: then it is put in while the agent works.
      if (what === "prompt" && error.status === 409) return post(`${path}/steer`, { text });
      throw error;
    });
    scrollToEnd();
    return true;
  } catch (error) {
    fault(error.message);
    return false;
  }
}

const sendNow = () => sendText(state.running ? "steer" : "prompt");

async function takeBack(waiting) {
  const taken = await act("take_back", { waiting });
  view.text.focus();
  if (taken && view.text.value.trim() === "") setText(taken.text);
}

async function promote(waiting) {
  await act("promote", { waiting });
  view.text.focus();
}

async function retry() {
  view.text.focus();
  await act("retry", {});
}

function setText(text) {
  view.text.value = text;
  fitText();
}

function fitText() {
  view.text.style.height = "auto";
  view.text.style.height = `${Math.min(view.text.scrollHeight + 2, window.innerHeight / 3)}px`;
}

function fault(text) {
  say(view.fault, text);
  view.fault.hidden = text === "";
}

// --- What is shown --------------------------------------------------------------------------------------------------

let isDrawing = false;

/** Draws with the next frame: a hundred deltas are one drawing. */
function drawSoon() {
  if (isDrawing) return;
  isDrawing = true;
  requestAnimationFrame(() => {
    isDrawing = false;
    draw();
  });
}

function draw() {
  const follows = isAtEnd();
  view.welcome.hidden = id !== null;
  document.body.dataset.conversation = id === null ? "none" : "open";
  view.seen.disabled = id === null;
  log.render(state);
  // Between a request and the first word of its answer nothing else would show that something happens.
  const isBusy = state.answer || state.questions.length > 0 || state.calls.some((call) => !call.ended);
  view.awaiting.hidden = !state.running || Boolean(isBusy) || isModelView;
  drawComposer();
  drawWaiting();
  drawAsked();
  drawOutcome();
  drawRun();
  document.title = `${state.questions.length > 0 ? "Question: " : state.running ? "Working: " : ""}turnstate chat`;
  document.body.dataset.running = state.running;
  if (follows) scrollToEnd();
  view.latest.hidden = isAtEnd();
}

let drawnMarks = "";

/** The timeline, when something has happened; while a tool or the model works, it grows by a timer of its own. */
function drawRun() {
  const marks = JSON.stringify([id, state.timeline[0], state.timeline.at(-1), state.timeline.length]);
  if (marks === drawnMarks) return;
  drawnMarks = marks;
  drawTimeline(view.timeline, state);
}

function drawComposer() {
  const { running } = state;
  say(view.send, running ? "Steer" : "Send");
  view.followUp.hidden = !running;
  // A button that goes away must not take the focus with it.
  if (!running && document.activeElement === view.stop) view.text.focus();
  if (!running && document.activeElement === view.followUp) view.text.focus();
  view.stop.hidden = !running;
  say(
    view.hint,
    running
      ? "Enter steers: delivered before the next request. Ctrl+Enter follows up: delivered when the agent is done."
      : "Enter sends, Shift+Enter begins a new line.",
  );
}

function drawWaiting() {
  const key = JSON.stringify([state.waiting, state.running]);
  if (view.waiting.dataset.key === key) return;
  view.waiting.dataset.key = key;
  view.waiting.hidden = state.waiting.length === 0;
  const button = (label, text, press) => el("button", { type: "button", "aria-label": `${label}: ${text}`, on: { click: press } }, label);
  const items = state.waiting.map(({ waiting, queue, text }) => {
    const chip = { steer: "next", note: "note" }[queue] ?? "afterwards";
    return el(
      "li",
      { data: { queue } },
      el("span", { className: "chip" }, chip),
      el("span", { className: "plain" }, text),
      queue !== "followUp" || !state.running ? null : button("Send sooner", text, () => promote(waiting)),
      button("Take back", text, () => takeBack(waiting)),
    );
  });
  // Rebuilt at most when something was delivered or taken: the focus goes where the next message is typed.
  const hadFocus = view.waiting.contains(document.activeElement);
  $("waiting-list").replaceChildren(...items);
  if (hadFocus) view.text.focus();
}

function drawAsked() {
  view.asked.hidden = state.questions.length === 0;
  const names = state.questions.map((question) => plainly(question.name)).join(", ");
  say($("asked-text"), names && `${names} needs your permission.`);
}

function drawOutcome() {
  const { ending, running } = state;
  const key = JSON.stringify([ending, running, state.waiting.length > 0]);
  if (view.outcome.dataset.key === key) return;
  view.outcome.dataset.key = key;
  const words = running ? null : outcomeWords(ending);
  if (view.outcome.contains(document.activeElement)) view.text.focus();
  view.outcome.replaceChildren();
  view.outcome.dataset.ending = ending?.type ?? "";
  if (words) {
    const button = el("button", { type: "button", on: { click: retry } }, words.button);
    view.outcome.append(el("p", {}, words.text), button);
  }
}

function outcomeWords(ending) {
  switch (ending?.type) {
    case "failed": {
      // The answer says it already, if it is the answer that failed.
      const isSaid = state.messages.at(-1)?.message.errorMessage === ending.message;
      return { text: isSaid ? "The agent could not finish." : `The agent could not finish: ${ending.message}`, button: "Try again" };
    }
    case "aborted":
      return { text: `You stopped the agent.${state.waiting.length > 0 ? " What waits is delivered when it goes on." : ""}`, button: "Try again" };
    case "endedByHook":
      return { text: ending.reason ?? "The agent was ended by a rule.", button: "Go on" };
    default:
      return null;
  }
}

/** Says aloud what happened; what streams is said once it is complete. */
function announce(step) {
  if (step.type === "run_start") say(view.announcer, "The agent works.");
  else if (step.type === "asked") say(view.announcer, `${plainly(step.question.name)} needs your permission.`);
  else if (step.type === "run_end" && step.ending?.type === "aborted") say(view.announcer, "Stopped.");
  else if (step.type === "run_end" && step.ending?.type === "failed") say(view.announcer, `Failed: ${step.ending.message}`);
  else if (step.type === "message" && step.shown.message.role === "assistant") {
    const text = textsOf(step.shown.message.content);
    if (text) say(view.announcer, text.length > 600 ? `${text.slice(0, 600)}…` : text);
  }
}

// --- What the model sees --------------------------------------------------------------------------------------------

function showModelView(on) {
  isModelView = on;
  view.seen.setAttribute("aria-pressed", String(on));
  view.log.hidden = on;
  view.outcome.hidden = on;
  view.model.hidden = !on;
  view.model.replaceChildren();
  refreshModelView();
}

async function refreshModelView() {
  if (!isModelView || !id) return;
  const asked = id;
  try {
    const { messages } = await get(`${pathOf(asked)}/seen`);
    if (isModelView && asked === id) renderModelView(view.model, messages);
  } catch (error) {
    if (asked === id) fault(error.message);
  }
}

// --- Scrolling ------------------------------------------------------------------------------------------------------

const page = document.scrollingElement;
const isAtEnd = () => page.scrollHeight - page.scrollTop - page.clientHeight < 80;
const scrollToEnd = () => page.scrollTo({ top: page.scrollHeight });

// --- Themes ---------------------------------------------------------------------------------------------------------

const THEMES = ["auto", "light", "dark"];

function showTheme() {
  say($("theme"), `Theme: ${document.documentElement.dataset.theme ?? "auto"}`);
}

function nextTheme() {
  const now = document.documentElement.dataset.theme ?? "auto";
  const next = THEMES[(THEMES.indexOf(now) + 1) % THEMES.length];
  if (next === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = next;
  try {
    localStorage.setItem("theme", next);
  } catch {
    // Then it holds for this page alone.
  }
  showTheme();
}

// --- Wiring ---------------------------------------------------------------------------------------------------------

view.composer.addEventListener("submit", (event) => {
  event.preventDefault();
  sendNow();
});
view.text.addEventListener("input", fitText);
view.text.addEventListener("keydown", (event) => {
  // While an input method composes a character, Enter is its own.
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  if ((event.ctrlKey || event.metaKey) && state.running) sendText("follow_up");
  else sendNow();
});
view.followUp.addEventListener("click", () => sendText("follow_up"));
view.note.addEventListener("click", () => sendText("note"));
view.stop.addEventListener("click", () => act("stop"));
view.seen.addEventListener("click", () => {
  showModelView(!isModelView);
  if (isModelView) page.scrollTo({ top: 0 });
  else scrollToEnd();
});
view.latest.addEventListener("click", scrollToEnd);
$("asked-show").addEventListener("click", () => {
  showModelView(false);
  const card = log.askingCard();
  card?.node.scrollIntoView({ block: "center" });
  card?.firstButton.focus();
});
$("skip").addEventListener("click", () => view.text.focus());
$("theme").addEventListener("click", nextTheme);
$("new").addEventListener("click", () => {
  history.pushState(null, "", location.pathname);
  open();
  view.text.focus();
});
window.addEventListener("hashchange", open);
window.addEventListener("popstate", open);
window.addEventListener("scroll", () => {
  view.latest.hidden = isAtEnd();
});
setInterval(() => {
  if (state.running) drawTimeline(view.timeline, state);
}, 250);

async function welcome() {
  try {
    const about = await get("/api/about");
    say($("introduction"), about.introduction);
    const suggestion = (text) => el("li", {}, el("button", { type: "button", on: { click: () => tell("prompt", text) } }, text));
    $("suggestions").replaceChildren(...about.suggestions.map(suggestion));
  } catch (error) {
    fault(error.message);
  }
}

$("timeline").open = window.matchMedia("(min-width: 70rem)").matches;
showTheme();
open();
welcome();
