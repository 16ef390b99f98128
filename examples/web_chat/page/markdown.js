// The usual markdown, as far as answers need it: paragraphs, headings, lists, code, bold, italic, links. First a tree
// of plain objects, then DOM nodes. Nothing is ever read as HTML, and what is not understood stays as it was typed.

import { el } from "./dom.js";

// No two repetitions that stand beside each other match the same character: the time they take grows with the line.
const FENCE = /^\s{0,3}(`{3,}|~{3,})\s*(?:([\w+#.-]+)\s*)?$/;
const HEADING = /^(#{1,6})\s+(.*)$/s;
const BULLET = /^\s{0,3}[-*+]\s+(.*)$/s;
const NUMBER = /^\s{0,3}(\d{1,9})[.)]\s+(.*)$/s;

/** The blocks of a text: `{type: "paragraph" | "heading" | "code" | "list", …}`. */
export function parse(text) {
  const lines = text.replaceAll("\r\n", "\n").split("\n");
  const blocks = [];
  let at = 0;
  while (at < lines.length) {
    const line = lines[at];
    const fence = FENCE.exec(line);
    const heading = HEADING.exec(line);
    if (line.trim() === "") {
      at += 1;
    } else if (fence) {
      const code = [];
      at += 1;
      while (at < lines.length && !closes(lines[at], fence[1])) code.push(lines[at++]);
      at += 1; // The closing fence; while it streams there may be none yet.
      blocks.push({ type: "code", language: fence[2] ?? "", text: code.join("\n") });
    } else if (heading) {
      blocks.push({ type: "heading", level: heading[1].length, inline: parseInline(heading[2]) });
      at += 1;
    } else if (BULLET.test(line) || NUMBER.test(line)) {
      const item = BULLET.test(line) ? BULLET : NUMBER;
      const list = { type: "list", ordered: item === NUMBER, items: [] };
      if (list.ordered) list.start = Number(NUMBER.exec(line)[1]);
      while (at < lines.length && item.test(lines[at])) {
        const texts = [item.exec(lines[at++]).at(-1)];
        while (at < lines.length && /^\s{2,}\S/.test(lines[at]) && !begins(lines[at])) texts.push(lines[at++].trim());
        list.items.push(parseInline(texts.join("\n")));
      }
      blocks.push(list);
    } else {
      const texts = [line];
      at += 1;
      while (at < lines.length && lines[at].trim() !== "" && !begins(lines[at])) texts.push(lines[at++]);
      blocks.push({ type: "paragraph", inline: parseInline(texts.join("\n")) });
    }
  }
  return blocks;
}

const closes = (line, fence) => line.trim().startsWith(fence) && line.trim().replaceAll(fence[0], "") === "";

const begins = (line) => FENCE.test(line) || HEADING.test(line) || BULLET.test(line) || NUMBER.test(line);

/** Longer addresses are shown as text: one that never ends would be read for each bracket before it. */
const LONGEST_URL = 2000;

/** The pieces of a line: strings, and `{type: "code" | "strong" | "em" | "link", …}`. */
export function parseInline(text, depth = 0) {
  const pieces = [];
  const found = new Map(); // Where each mark was found last: looked for anew only from there on.
  let refused = -1; // Where the last address begins that no link is made to: all `[` before it lead there.
  let plain = "";
  let at = 0;
  const find = (mark, from) => {
    const last = found.get(mark);
    if (last !== undefined && (last < 0 || last >= from)) return last;
    found.set(mark, text.indexOf(mark, from));
    return found.get(mark);
  };
  const add = (piece, end) => {
    if (plain) pieces.push(plain);
    plain = "";
    pieces.push(piece);
    at = end;
  };
  while (at < text.length) {
    const char = text[at];
    if (char === "\\" && /[\\`*_[\]()#+.!-]/.test(text[at + 1] ?? "")) {
      plain += text[at + 1];
      at += 2;
      continue;
    }
    if (char === "`") {
      const end = find("`", at + 1);
      if (end > at + 1) {
        add({ type: "code", text: text.slice(at + 1, end) }, end + 1);
        continue;
      }
    }
    if (depth < 4 && (char === "*" || char === "_")) {
      const mark = text[at + 1] === char ? char + char : char;
      const wordBefore = char === "_" && /\w/.test(text[at - 1] ?? "");
      const opens = /\S/.test(text[at + mark.length] ?? "") && !wordBefore;
      const end = opens ? find(mark, at + mark.length + 1) : -1;
      if (end > 0 && /\S/.test(text[end - 1])) {
        const inner = parseInline(text.slice(at + mark.length, end), depth + 1);
        add({ type: mark.length === 2 ? "strong" : "em", inline: inner }, end + mark.length);
        continue;
      }
    }
    if (char === "[") {
      const middle = find("](", at + 1);
      const end = middle < 0 || middle === refused ? -1 : find(")", middle + 2);
      const url = end < 0 || end - middle > LONGEST_URL ? null : safeUrl(text.slice(middle + 2, end));
      if (url) {
        add({ type: "link", text: text.slice(at + 1, middle), url }, end + 1);
        continue;
      }
      refused = middle;
    }
    plain += char;
    at += 1;
  }
  if (plain) pieces.push(plain);
  return pieces;
}

/** The address of a link that may be followed, or null. */
export function safeUrl(text) {
  const trimmed = text.trim();
  if (!/^(https?:\/\/|mailto:)/i.test(trimmed) || /[\s\p{Cc}]/u.test(trimmed)) return null;
  try {
    const url = new URL(trimmed);
    return ["http:", "https:", "mailto:"].includes(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}

/** Shows a text in an element. Blocks that have not changed keep their nodes, so a growing text does not flicker. */
export function renderInto(node, text) {
  const known = node.shownBlocks ?? [];
  const blocks = parse(text);
  const shown = blocks.map((block, at) => {
    const key = JSON.stringify(block);
    return known[at]?.key === key ? known[at] : { key, element: elementOf(block) };
  });
  let first = 0;
  while (first < shown.length && shown[first] === known[first]) first += 1;
  for (const old of known.slice(first)) old.element.remove();
  node.append(...shown.slice(first).map((block) => block.element));
  node.shownBlocks = shown;
}

function elementOf(block) {
  switch (block.type) {
    case "code":
      return el("pre", {}, el("code", {}, block.text));
    case "heading":
      // The page's own headings are the first two levels.
      return el(`h${Math.min(block.level + 2, 6)}`, {}, ...block.inline.map(pieceOf));
    case "list": {
      const list = el(block.ordered ? "ol" : "ul", {}, ...block.items.map((item) => el("li", {}, ...item.map(pieceOf))));
      if (block.ordered) list.start = block.start;
      return list;
    }
    default:
      return el("p", {}, ...block.inline.map(pieceOf));
  }
}

function pieceOf(piece) {
  if (typeof piece === "string") return piece;
  switch (piece.type) {
    case "code":
      return el("code", {}, piece.text);
    case "link":
      return el("a", { href: piece.url, rel: "noopener noreferrer", target: "_blank" }, piece.text);
    default:
      return el(piece.type, {}, ...piece.inline.map(pieceOf));
  }
}
