// Parsing and formatting of IRC lines with message tags, and names. Pure functions.

const escapes = { ":": ";", s: " ", "\\": "\\", r: "\r", n: "\n" };

const unescapeTag = (value) => value.replace(/\\(.?)/g, (_, c) => escapes[c] ?? c);

export const escapeTag = (value) => value.replace(/[;\s\\]/g, (c) => ({ ";": "\\:", " ": "\\s", "\\": "\\\\", "\r": "\\r", "\n": "\\n" })[c]);

// parse parses a line: {tags, source, nick, command, params}. tags is a Map.
export function parse(line) {
  const m = { tags: new Map(), source: "", nick: "", command: "", params: [] };
  let rest = line;
  const word = () => {
    const at = rest.indexOf(" ");
    const first = at < 0 ? rest : rest.slice(0, at);
    rest = at < 0 ? "" : rest.slice(at).replace(/^ +/, "");
    return first;
  };
  if (rest[0] === "@") {
    for (const tag of word().slice(1).split(";")) {
      const at = tag.indexOf("=");
      m.tags.set(at < 0 ? tag : tag.slice(0, at), at < 0 ? "" : unescapeTag(tag.slice(at + 1)));
    }
  }
  if (rest[0] === ":") {
    m.source = word().slice(1);
    m.nick = m.source.split("!")[0];
  }
  m.command = word().toUpperCase();
  while (rest !== "") {
    if (rest[0] === ":") {
      m.params.push(rest.slice(1));
      break;
    }
    m.params.push(word());
  }
  return m;
}

// line formats a command. The last parameter is always a trailing one, after a colon.
export function line(command, params = [], tags = {}) {
  const named = Object.entries(tags).map(([name, value]) => (value === "" ? name : `${name}=${escapeTag(value)}`));
  const head = (named.length ? `@${named.join(";")} ` : "") + command;
  return head + params.map((p, i) => (i === params.length - 1 ? ` :${p}` : ` ${p}`)).join("");
}

// fold folds a name for comparison (CASEMAPPING=ascii).
export const fold = (name) => name.replace(/[A-Z]/g, (c) => c.toLowerCase());

export const isRoom = (name) => name.startsWith("#");

// offset returns a message's offset in its room's log, from its msgid ROOM-OFFSET; NaN for a
// message that is not in a log.
export function offset(msgid) {
  const m = /^[a-z2-7]{8}-(\d+)$/.exec(msgid ?? "");
  return m ? Number(m[1]) : NaN;
}

// base64 encodes text as UTF-8.
export const base64 = (text) => btoa(String.fromCharCode(...new TextEncoder().encode(text)));

// chunks splits a SASL response into the parameters of AUTHENTICATE.
export function chunks(answer) {
  const parts = [];
  for (let i = 0; i < answer.length; i += 400) parts.push(answer.slice(i, i + 400));
  if (answer.length % 400 === 0) parts.push("+");
  return parts;
}

const bytes = (s) => new TextEncoder().encode(s).length;

// fits returns how many UTF-16 units at the start of text have at most size bytes in UTF-8. It
// prefers to end at a space.
function fits(text, size) {
  let at = 0;
  for (let n = 0; ; ) {
    const c = String.fromCodePoint(text.codePointAt(at));
    n += bytes(c);
    if (n > size) break;
    at += c.length;
  }
  const space = text.lastIndexOf(" ", at - 1) + 1;
  return space > at / 2 ? space : at;
}

// cut splits text into lines of at most size bytes: [{text, concat}]. concat means that a line
// continues the one before it.
export function cut(text, size) {
  const all = [];
  for (let rest of text.replace(/^[\r\n]+|\s+$/g, "").split("\n")) {
    rest = rest.replace(/[\r\0]/g, "");
    let concat = false;
    for (; bytes(rest) > size; concat = true) {
      const at = fits(rest, size);
      all.push({ text: rest.slice(0, at), concat });
      rest = rest.slice(at);
    }
    all.push({ text: rest, concat });
  }
  return all.some((p) => p.text !== "") ? all : [];
}
