// What was said, as nodes. Text becomes text nodes only: nothing in it can be markup.

const link = /\bhttps?:\/\/[^\s<>"\u0000-\u001f]+/gi;

// trimmed is a link without the punctuation that belongs to the sentence.
function trimmed(url) {
  let end = url.replace(/[.,;:!?'’”]+$/, "");
  while (end.endsWith(")") && end.split(")").length > end.split("(").length) end = end.slice(0, -1);
  return end;
}

// render appends text to a node, with links that can be followed and the own nick marked.
export function render(node, text, me) {
  let from = 0;
  const plain = text.replace(/\x03(\d{1,2}(,\d{1,2})?)?|[\x00-\x1f]/g, ""); // colours and the like of other clients
  for (const found of plain.matchAll(link)) {
    const url = trimmed(found[0]);
    mark(node, plain.slice(from, found.index), me);
    node.append(anchor(url));
    from = found.index + url.length;
  }
  mark(node, plain.slice(from), me);
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
  a.textContent = url;
  return a;
}

const quote = (s) => s.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");

// mention matches a nick as a word.
export const mention = (nick) => new RegExp(`(?<![\\p{L}\\p{N}_])${quote(nick)}(?![\\p{L}\\p{N}_])`, "iu");

function mark(node, text, me) {
  const at = me ? text.search(mention(me)) : -1;
  if (at < 0) {
    node.append(text);
    return;
  }
  const strong = document.createElement("mark");
  strong.textContent = text.slice(at, at + me.length);
  node.append(text.slice(0, at), strong);
  mark(node, text.slice(at + me.length), me);
}

// hue is a nick's own colour, 0 to 15: a class nick-N of the style sheet.
export function hue(nick) {
  let h = 7;
  for (const c of nick.toLowerCase().replace(/[_`|]+$/, "")) h = (h * 31 + c.codePointAt(0)) % 65521;
  return h % 16;
}
