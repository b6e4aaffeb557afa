// The lists beside the messages: rooms, and the members of the current room.

import { fold } from "./irc.js";
import { hue, mention } from "./text.js";

// sorted sorts conversations: rooms by name, then direct conversations.
export const sorted = (rooms) =>
  [...rooms.values()].sort((a, b) => a.direct - b.direct || fold(a.name).localeCompare(fold(b.name)));

// counts returns the numbers of unread messages in a room: {all, mine}. mine counts mentions and
// direct messages.
export function counts(room, me) {
  const unread = room.unread(me);
  const mine = room.direct ? unread.length : unread.filter((m) => mention(me).test(m.text)).length;
  return { all: unread.length, mine };
}

// update makes a list show items in their order. It keeps the buttons of items that the list shows
// already: a click is lost if its button is replaced between the press and the release of the
// mouse, which every message would do. fill sets the contents of a button.
function update(list, items, key, fill) {
  const had = new Map([...list.children].map((li) => [li.dataset.key, li]));
  const focused = list.contains(document.activeElement) ? document.activeElement : undefined;
  const all = items.map((item) => {
    const li = had.get(key(item)) ?? entry(key(item));
    fill(li.firstChild, item);
    return li;
  });
  if (all.length === list.children.length && all.every((li, i) => li === list.children[i])) return;
  list.replaceChildren(...all);
  focused?.focus();
}

function entry(key) {
  const li = document.createElement("li");
  li.dataset.key = key;
  const button = document.createElement("button");
  button.type = "button";
  li.append(button);
  return li;
}

function span(className, text) {
  const e = document.createElement("span");
  e.className = className;
  e.textContent = text;
  return e;
}

// drawRooms draws the list of rooms.
export function drawRooms(list, rooms, shown, me, open) {
  update(list, sorted(rooms), (room) => fold(room.name), (button, room) => fillRoom(button, room, room === shown, me, open));
}

function fillRoom(button, room, current, me, open) {
  button.dataset.room = room.name;
  button.onclick = () => open(room);
  button.replaceChildren(span("", room.name));
  if (current) button.setAttribute("aria-current", "true");
  else button.removeAttribute("aria-current");
  button.classList.toggle("out", !room.direct && !room.joined);
  const { all, mine } = counts(room, me);
  const unread = all > 0 && !current;
  button.classList.toggle("unread", unread);
  if (!unread) return;
  const badge = span(mine > 0 ? "badge mine" : "badge", all > 99 ? "99+" : all);
  badge.setAttribute("aria-label", `${all} unread`);
  button.append(" ", badge);
}

const ranks = { "~": "founder", "&": "admin", "@": "operator", "%": "half-operator", "+": "voice" };

// drawPeople draws the members of a room.
export function drawPeople(list, room, talk) {
  update(list, room.sorted(), (p) => p.nick, (button, p) => fillPerson(button, p, talk));
}

function fillPerson(button, p, talk) {
  button.onclick = () => talk(p.nick);
  button.replaceChildren(span(`nick nick-${hue(p.nick)}`, p.nick));
  const also = [ranks[p.rank[0]], p.away && "away"].filter(Boolean).join(", ");
  if (also) button.append(span("rank", also));
  button.classList.toggle("away", !!p.away);
  button.title = p.away ? `Talk to ${p.nick}, who is away` : `Talk to ${p.nick}`;
}
