// Drives the page as a person would. Every wait is for a state, none for a time.
//
//   node browser.mjs URL PLAYWRIGHT CHROMIUM [STEP]

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import net from "node:net";

const [url, driver, executablePath, onlyStep] = process.argv.slice(2);
const { chromium } = createRequire(import.meta.url)(driver);
const flags =
  "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync";

setTimeout(() => {
  console.error("the browser test took too long");
  process.exit(1);
}, 85_000).unref();

const browser = await chromium.launch({ executablePath, args: flags.split(" ") });
const steps = [];
const step = (name, run) => steps.push({ name, run });

// --- What must hold in every step -----------------------------------------------------------------------------------

/** Opens a page whose every request, message and violation is looked at. */
async function openPage(context, address = url) {
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  await page.goto(address);
  await page.waitForSelector("#suggestions button", { state: "attached" });
  return page;
}

async function newContext(faults, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, ...options });
  context.on("request", (request) => {
    if (new URL(request.url()).hostname !== "127.0.0.1") faults.push(`request to ${request.url()}`);
  });
  context.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) faults.push(`console: ${message.text()}`);
  });
  context.on("weberror", (error) => faults.push(`error: ${error.error().message}`));
  context.on("dialog", (dialog) => {
    faults.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  await context.addInitScript(() => {
    window.seen = { violations: [], progress: new Set(), streamed: new Set() };
    document.addEventListener("securitypolicyviolation", (event) => window.seen.violations.push(event.violatedDirective));
    // What was shown in passing, so that no test has to be quick.
    const look = () => {
      for (const node of document.querySelectorAll(".card .progress:not([hidden])")) window.seen.progress.add(node.textContent);
      for (const node of document.querySelectorAll(".streaming .markdown")) window.seen.streamed.add(node.textContent.length);
    };
    new MutationObserver(look).observe(document, { childList: true, subtree: true, characterData: true, attributes: true });
  });
  return context;
}

/** Nothing that came as text has become a part of the page, and nothing of it ran. */
async function assertNothingRan(page) {
  const found = await page.evaluate(() => {
    const shown = [...document.querySelectorAll("#conversation, #waiting, #timeline")];
    const elements = shown.flatMap((part) => [...part.querySelectorAll("*")]);
    const allowed = new Set(
      "A ARTICLE BUTTON CODE DETAILS DIV EM H2 H3 H4 HEADER LI OL P PRE SPAN STRONG SUMMARY UL".split(" "),
    );
    return {
      hacked: typeof window.hacked,
      violations: window.seen.violations,
      elements: elements.filter((node) => !allowed.has(node.tagName)).map((node) => node.outerHTML),
      handlers: elements.filter((node) => node.getAttributeNames().some((name) => name.startsWith("on"))).length,
      links: elements
        .filter((node) => node.tagName === "A")
        .filter((node) => !/^(https?|mailto):/.test(node.href) || node.rel !== "noopener noreferrer")
        .map((node) => node.href),
    };
  });
  assert.deepEqual(found, { hacked: "undefined", violations: [], elements: [], handlers: 0, links: [] });
}

// --- What a person sees and does ------------------------------------------------------------------------------------

const suggest = (page, text) => page.getByRole("button", { name: text, exact: true }).click();
const idle = (page) => page.waitForSelector('body[data-running="false"]:has(.message.assistant)');
const answers = (page) => page.locator(".message.assistant .markdown").allInnerTexts();
const said = (page) => page.locator(".message.user .plain").allInnerTexts();
const card = (page, status) => page.waitForSelector(`.card[data-status="${status}"]`);
const type = async (page, text, key = "Enter") => {
  await page.fill("#text", text);
  await page.press("#text", key);
};
const waiting = (page, count) =>
  page.waitForFunction((count) => document.querySelectorAll("#waiting-list li").length === count, count);
const waitingTexts = (page) =>
  page.locator("#waiting-list li").evaluateAll((items) => items.map((item) => `${item.dataset.queue}: ${item.querySelector(".plain").textContent}`));
const streamed = (page, length) =>
  page.waitForFunction((length) => (document.querySelector(".streaming .markdown")?.textContent.length ?? 0) > length, length);

// --- The steps ------------------------------------------------------------------------------------------------------

step("an answer streams, with a tool card that shows progress and a result", async (context) => {
  const page = await openPage(context);
  await suggest(page, "Plan my week");
  await idle(page);
  await page.waitForSelector(".message.assistant .markdown ul li");
  assert.deepEqual(await said(page), ["Plan my week"]);
  const shown = await page.evaluate(() => ({ progress: [...window.seen.progress], streamed: window.seen.streamed.size }));
  assert.ok(shown.progress.some((text) => /^Looked at \d of 8 notes, found \d$/.test(text)), "no progress was shown");
  assert.ok(shown.streamed > 5, "the answer did not stream");
  const search = page.locator(".card", { hasText: "search_notes" });
  assert.match(await search.locator(".pill").innerText(), /^done, [\d.]+ m?s$/);
  assert.match(await search.locator(".arguments").innerText(), /^query: day$/);
  assert.match(await search.locator(".result").innerText(), /Dentist: Wednesday at 9:30/);
  assert.equal(await page.locator(".thinking").count(), 2);
  assert.match(await page.locator("#timeline-body > p").innerText(), /^2 turns, .* tokens read, \d+ written$/);
  assert.equal(await page.locator(".bar.model").count(), 2);
  assert.equal(await page.locator(".bar.tool").count(), 2);
  assert.match(await page.locator("#announcer").innerText(), /^Today is/);
});

step("with the keyboard alone: skip to the box, ask, go to the question, allow", async (context) => {
  const page = await openPage(context);
  const focus = () => page.evaluate(() => document.activeElement.id || document.activeElement.textContent);
  await page.keyboard.press("Tab");
  assert.equal(await focus(), "skip");
  await page.keyboard.press("Enter");
  assert.equal(await focus(), "text");
  await page.keyboard.type("Delete a note");
  await page.keyboard.press("Enter");
  await card(page, "asking");
  assert.equal(await focus(), "text", "the question must not take the focus");
  await page.keyboard.press("Shift+Tab");
  assert.equal(await focus(), "asked-show");
  await page.keyboard.press("Enter");
  assert.equal(await focus(), "Allow");
  const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
  assert.equal(outline, "solid", "the focus is visible");
  await page.keyboard.press("Enter");
  await idle(page);
  assert.notEqual(await page.evaluate(() => document.activeElement.tagName), "BODY", "the focus is not lost");
  assert.deepEqual((await answers(page)).at(-1), "Done. Deleted “Old shopping list”.");
  assert.deepEqual(await page.locator(".message.notification .plain").allInnerTexts(), [
    "The embedded demonstration model answers: it is scripted, but its tools are real.",
    "You allowed delete_note.",
  ]);
});

step("a refused call does not run, and the question survives a reload", async (context) => {
  const page = await openPage(context);
  await suggest(page, "Delete a note");
  await card(page, "asking");
  await page.reload();
  await card(page, "asking");
  await page.getByRole("button", { name: "Refuse" }).click();
  await idle(page);
  assert.equal(await page.locator(".card .pill").innerText(), "did not run");
  assert.match((await answers(page)).at(-1), /^I left your notes as they are\./);
  assert.equal(await page.locator("#asked").isVisible(), false);
  // The model was told why, and not that there was a notification.
  await page.click("#seen");
  await page.waitForSelector(".sent");
  const sent = await page.locator("#model-view").innerText();
  assert.match(sent, /The person does not want this/);
  assert.doesNotMatch(sent, /You refused|embedded demonstration/);
});

step("what is typed while it works waits: steers, follow-ups, one taken back, one sent sooner", async (context) => {
  const page = await openPage(context);
  await suggest(page, "Delete a note");
  await card(page, "asking"); // The question holds the run until all of it is queued.
  await type(page, "the steer");
  await waiting(page, 1);
  await type(page, "the follow-up", "Control+Enter");
  await waiting(page, 2);
  await page.fill("#text", "the unwanted one");
  await page.click("#follow-up");
  await waiting(page, 3);
  await type(page, "the urgent one", "Control+Enter");
  await waiting(page, 4);
  await page.getByRole("button", { name: "Take back: the unwanted one" }).click();
  await waiting(page, 3);
  assert.equal(await page.inputValue("#text"), "the unwanted one", "it is in the box again");
  await page.fill("#text", "");
  await page.getByRole("button", { name: "Send sooner: the urgent one" }).click();
  await page.waitForFunction(() => document.querySelectorAll('#waiting-list [data-queue="steer"]').length === 2);
  assert.deepEqual(await waitingTexts(page), ["steer: the steer", "steer: the urgent one", "followUp: the follow-up"]);
  await page.getByRole("button", { name: "Allow", exact: true }).click();
  await idle(page);
  await waiting(page, 0);
  assert.deepEqual(await said(page), ["Delete a note", "the steer", "the urgent one", "the follow-up"]);
  assert.match((await answers(page)).join("\n"), /You told me while I was working: “the steer”/);
});

step("stop keeps what was streamed, also after a reload; then it can be tried again", async (context) => {
  const page = await openPage(context);
  await suggest(page, "Tell me a long story");
  await streamed(page, 150);
  await page.click("#stop");
  await idle(page);
  const [kept] = await answers(page);
  assert.ok(kept.length > 150);
  assert.match(await page.locator(".message.assistant .tags").innerText(), /^Stopped\./);
  await page.reload();
  await idle(page);
  assert.deepEqual(await answers(page), [kept]);
  await page.click("#seen");
  await page.waitForSelector(".sent");
  assert.doesNotMatch(await page.locator("#model-view").innerText(), /Once there was a loop/);
  await page.click("#seen");
  await page.getByRole("button", { name: "Try again" }).click();
  await streamed(page, 20);
  await page.click("#stop");
  await idle(page);
  assert.equal((await answers(page))[0], kept);
  assert.equal(await page.locator(".message.assistant").count(), 2);
});

step("a reload and a second tab show the same, and go on streaming", async (context) => {
  const first = await openPage(context);
  await suggest(first, "Tell me a long story");
  await streamed(first, 100);
  await first.reload();
  await streamed(first, 200);
  const second = await openPage(context, first.url());
  await streamed(second, 250);
  await streamed(first, 300);
  await second.click("#stop");
  await Promise.all([idle(first), idle(second)]);
  assert.deepEqual(await answers(first), await answers(second));
  assert.match((await answers(first))[0], /^Chapter 1\. Once there was a loop/);
  // A note of one tab is a note in the other.
  await second.fill("#text", "The shop closes at six.");
  await second.click("#note");
  await first.waitForSelector(".message.note");
  assert.match(await first.locator(".message.note").innerText(), /sent to the model\s+The shop closes at six\./);
  await first.click("#seen");
  await first.waitForSelector(".sent");
  assert.match(await first.locator("#model-view").innerText(), /A note from the user, for your information: The shop closes at six\./);
});

step("an error is told in words, with a retry", async (context) => {
  const page = await openPage(context);
  await suggest(page, "Fail once");
  await page.getByRole("button", { name: "Try again" }).click();
  await page.waitForFunction(() => document.querySelectorAll(".message.assistant").length === 2);
  await idle(page);
  const [failed, retried] = await page.locator(".message.assistant").allInnerTexts();
  assert.match(failed, /Failed: The demonstration model failed on purpose/);
  assert.match(retried, /This time nothing failed/);
  assert.equal(await page.getByRole("button", { name: "Try again" }).count(), 0);
});

step("a lost connection is shown and repaired", async (context, faults) => {
  const line = await openLine(new URL(url).port);
  const page = await openPage(context, `http://127.0.0.1:${line.port}/`);
  await suggest(page, "Tell me a long story");
  await streamed(page, 60);
  await line.cut();
  await page.waitForSelector('body[data-connection="lost"]');
  assert.equal(await page.locator("#connection").innerText(), "Connection lost. Trying to reconnect…");
  await type(page, "Are you there?");
  await page.waitForSelector("#fault:not([hidden])");
  assert.equal(await page.locator("#fault").innerText(), "The server cannot be reached.");
  assert.equal(await page.inputValue("#text"), "Are you there?", "what could not be sent stays");
  const before = (await answers(page))[0].length;
  await line.mend();
  await page.waitForSelector('body[data-connection="connected"]');
  assert.equal(await page.locator("#connection").innerText(), "");
  await streamed(page, before + 50);
  await page.click("#stop");
  await idle(page);
  const repaired = await answers(page);
  const other = await openPage(context, `${url}${new URL(page.url()).hash}`);
  await idle(other);
  assert.deepEqual(await answers(other), repaired, "nothing is missing, nothing is there twice");
  await page.close(); // Before the line: what it loses now would be noted too.
  await line.close();
  // The browser itself notes what it could not load.
  for (let at = faults.length - 1; at >= 0; at--) {
    if (/ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE|ERR_INCOMPLETE_CHUNKED/.test(faults[at])) faults.splice(at, 1);
  }
});

step("text of the model, of tools and of people is never markup", async (context) => {
  const page = await openPage(context);
  const attack = `<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>[a](javascript:window.hacked=1)`;
  await suggest(page, "Show me odd text");
  await idle(page);
  await type(page, attack);
  await page.waitForFunction(() => document.querySelectorAll(".message.user").length === 2);
  await idle(page); // The model has repeated it.
  assert.match((await answers(page)).at(-1), /<script>window\.hacked=1<\/script>/);
  await page.fill("#text", attack);
  await page.click("#note");
  await page.waitForSelector(".message.note");
  await assertNothingRan(page);
  assert.deepEqual(await page.locator("#log a").evaluateAll((links) => links.map((link) => link.href)), ["https://example.com/"]);
  assert.ok((await said(page)).includes(attack), "it is there, letter by letter");
  await page.click("#seen");
  await page.waitForSelector(".sent");
  await assertNothingRan(page);
});

step("a first message goes to no conversation that is opened meanwhile", async (context) => {
  const other = await openPage(context);
  await suggest(other, "What is 17 * 23 + 4?");
  await idle(other);
  const page = await openPage(context);
  let make = null;
  const made = new Promise((resolve) => (make = resolve));
  await page.route("**/api/conversations", async (route) => {
    await made;
    await route.continue();
  });
  await type(page, "for a new one");
  await page.evaluate((hash) => (location.hash = hash), new URL(other.url()).hash);
  await idle(page);
  make();
  await page.waitForSelector("#fault:not([hidden])");
  assert.equal(await page.inputValue("#text"), "for a new one", "what was not sent stays");
  assert.deepEqual(await said(page), ["What is 17 * 23 + 4?"]);
});

step("a conversation that is gone is told in words", async (context, faults) => {
  const page = await openPage(context, `${url}#${"0".repeat(32)}`);
  await page.waitForSelector('body[data-connection="gone"]');
  assert.match(await page.locator("#connection").innerText(), /not on the server any more/);
  await page.click("#new");
  await suggest(page, "What is 17 * 23 + 4?");
  await idle(page);
  await page.waitForFunction(() => [...document.querySelectorAll(".markdown")].some((node) => node.textContent === "It is 395."));
  faults.splice(0, faults.length, ...faults.filter((fault) => !/status of 404/.test(fault)));
});

step("nothing is wider than a phone, light and dark", async (_, faults) => {
  for (const colorScheme of ["light", "dark"]) {
    const context = await newContext(faults, { viewport: { width: 390, height: 780 }, colorScheme });
    const page = await openPage(context);
    await suggest(page, "Delete a note");
    await card(page, "asking");
    await type(page, "averylongwordthatdoesnotbreak".repeat(20));
    await waiting(page, 1);
    await page.click("#timeline summary");
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.equal(width, 390);
    const nameless = await page.locator("button:visible").evaluateAll((buttons) =>
      buttons.filter((button) => !(button.getAttribute("aria-label") ?? button.textContent).trim()).length,
    );
    assert.equal(nameless, 0, "every button has a name");
    const dark = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    assert.equal(dark === "rgb(23, 25, 22)", colorScheme === "dark");
    await page.click("#stop");
    await page.getByRole("button", { name: "Try again" }).waitFor();
    await context.close();
  }
});

// --- A line that can be cut -----------------------------------------------------------------------------------------

/** Forwards a port of the loopback to the server, until it is cut. */
async function openLine(to) {
  const sockets = new Set();
  const forward = (socket) => {
    const other = net.connect(to, "127.0.0.1");
    for (const end of [socket, other]) {
      sockets.add(end);
      end.on("error", () => {});
      end.on("close", () => {
        sockets.delete(end);
        socket.destroy();
        other.destroy();
      });
    }
    socket.pipe(other).pipe(socket);
  };
  const listen = (port) =>
    new Promise((resolve, reject) => {
      const server = net.createServer(forward);
      server.once("error", reject);
      server.listen(port, "127.0.0.1", () => resolve(server));
    });
  let server = await listen(0);
  const { port } = server.address();
  const cut = async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  const mend = async () => {
    server = await listen(port);
  };
  return { port, cut, mend, close: cut };
}

// --- Running them ---------------------------------------------------------------------------------------------------

let failed = 0;
for (const { name, run } of steps) {
  if (onlyStep && !name.includes(onlyStep)) continue;
  const faults = [];
  const started = Date.now();
  const context = await newContext(faults);
  try {
    await run(context, faults);
    for (const page of context.pages()) await assertNothingRan(page);
    assert.deepEqual(faults, []);
    console.log(`ok      ${name} (${Date.now() - started} ms)`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED  ${name}\n${error.stack}\n${faults.join("\n")}`);
  }
  await context.close();
}
await browser.close();
process.exit(failed === 0 ? 0 : 1);
