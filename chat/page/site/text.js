// Rendering of message text. Text is only inserted as text nodes, so it cannot contain markup.

import { fold } from "./irc.js";

const link = /\bhttps?:\/\/[^\s<>"\u0000-\u001f]+/gi;

// trimmed removes the punctuation at the end of a link that belongs to the sentence.
function trimmed(url) {
  let end = url.replace(/[.,;:!?'’”]+$/, "");
  while (end.endsWith(")") && end.split(")").length > end.split("(").length) end = end.slice(0, -1);
  return end;
}

// render appends text to a node, with links, and with nicks marked: the user's own and those of
// people, a Map by folded nick.
export function render(node, text, me, people) {
  let from = 0;
  // remove IRC formatting
  const plain = text.replace(/\x03(\d{1,2}(,\d{1,2})?)?|[\x00-\x08\x0b-\x1f]/g, "");
  for (const found of plain.matchAll(link)) {
    const url = trimmed(found[0]);
    mark(node, plain.slice(from, found.index), me, people);
    node.append(anchor(url));
    from = found.index + url.length;
  }
  mark(node, plain.slice(from), me, people);
}

// fileName returns the name of a file that was uploaded to this server; "" for any other link.
export function fileName(href) {
  const url = new URL(href);
  const found = url.origin === location.origin && /^\/file\/[0-9a-f]{64}\/([^/]+)$/.exec(url.pathname);
  try {
    return found ? decodeURIComponent(found[1]).replace(/[\p{Cc}\p{Cf}]/gu, "") : "";
  } catch {
    return "";
  }
}

function anchor(url) {
  let parsed = null;
  try {
    parsed = new URL(url);
  } catch {
    return document.createTextNode(url);
  }
  const a = document.createElement("a");
  a.href = parsed.href;
  a.target = "_blank";
  a.rel = "noopener noreferrer nofollow";
  a.textContent = fileName(url) || url;
  return a;
}

const quote = (s) => s.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");

// mention returns a pattern that matches a nick as a word.
export const mention = (nick) => new RegExp(`(?<![\\p{L}\\p{N}_])${quote(nick)}(?![\\p{L}\\p{N}_])`, "iu");

const word = /[A-Za-z_[\]{}\\|`^][A-Za-z0-9_[\]{}\\|`^-]*/g;

// mark appends text with the user's nick highlighted and other nicks in their colours.
function mark(node, text, me, people) {
  let from = 0;
  for (const found of text.matchAll(word)) {
    const name = found[0];
    const own = me && fold(name) === fold(me);
    if (!own && !(name.length > 2 && people?.has(fold(name)))) continue;
    const e = document.createElement(own ? "mark" : "span");
    e.textContent = name;
    if (!own) e.className = `nick nick-${hue(name)}`;
    node.append(text.slice(from, found.index), e);
    from = found.index + name.length;
  }
  node.append(text.slice(from));
}

// hue returns the colour of a nick, 0 to 15: the class nick-N of the style sheet.
export function hue(nick) {
  let h = 7;
  for (const c of nick.toLowerCase().replace(/[_`|]+$/, "")) h = (h * 31 + c.codePointAt(0)) % 65521;
  return h % 16;
}
