// Rendering of one message.

import { fold } from "./irc.js";
import { hue, mention, render } from "./text.js";
import { picture } from "./upload.js";

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });

export function element(kind, name, text) {
  const e = document.createElement(kind);
  if (name) e.className = name;
  if (text !== undefined) e.textContent = text;
  return e;
}

export function button(name, text, label, act) {
  const b = element("button", name, text);
  b.type = "button";
  if (label) b.setAttribute("aria-label", label);
  b.addEventListener("click", act);
  return b;
}

export const nickOf = (nick) => element("span", `nick nick-${hue(nick)}`, nick);

function timeOf(m) {
  const time = element("time", "", clock.format(m.time));
  time.dateTime = new Date(m.time).toISOString();
  time.title = new Date(m.time).toLocaleString();
  return time;
}

// message renders a message. v = {me, room, jump(id), react(message, reaction)}.
export function message(m, v) {
  const e = element("article", "message");
  e.dataset.id = m.id || "-";
  e.tabIndex = -1;
  if (m.local) e.classList.add("local");
  if (m.event || m.action) e.classList.add("event");
  if (m.waiting) e.classList.add("waiting");
  if (m.reply) e.append(quoted(m.reply, v));
  if (m.nick) e.append(nickOf(m.nick), " ");
  e.append(timeOf(m), " ", textOf(m, v));
  if (!m.redacted && !m.event && fold(m.nick ?? "") !== fold(v.me) && v.me && mention(v.me).test(m.text)) e.classList.add("mention");
  if (m.waiting) e.append(" ", element("span", "note", "not yet sent"));
  const all = v.room.reactions.get(m.id);
  if (all?.size > 0) e.append(reactions(m, all, v));
  return e;
}

function textOf(m, v) {
  const text = element("span", "text");
  if (m.redacted) {
    text.classList.add("removed");
    text.textContent = "This message was removed.";
    return text;
  }
  render(text, m.text, fold(m.nick ?? "") === fold(v.me) ? "" : v.me, v.room.people);
  for (const a of text.querySelectorAll("a")) {
    const shown = picture(a.href);
    if (shown) text.append(shown);
  }
  return text;
}

// quoted renders the start of the message that a reply refers to.
function quoted(id, v) {
  const to = v.room.ids.get(id) ?? v.room.past?.ids.get(id);
  const b = button("quoted", "", "", () => v.jump(id));
  if (to?.nick) b.append(nickOf(to.nick), " ");
  const words = to?.redacted ? "a message that was removed" : to?.text ?? "an earlier message";
  b.append(element("span", "", words.split("\n", 1)[0].slice(0, 120)));
  b.title = "Go to the message that this one replies to";
  return b;
}

function reactions(m, all, v) {
  const list = element("div", "reactions");
  for (const [reaction, by] of all) {
    const names = [...by.values()].map((r) => r.nick);
    const b = button("reaction", "", `${reaction}: ${names.join(", ")}`, () => v.react(m, reaction));
    b.append(element("span", "", reaction), " ", element("span", "", names.length));
    b.title = names.join(", ");
    b.setAttribute("aria-pressed", by.has(fold(v.me)));
    list.append(b);
  }
  return list;
}
