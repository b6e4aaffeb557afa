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

// drawRooms draws the list of rooms and keeps the focus.
export function drawRooms(list, rooms, shown, me, open) {
  const focused = list.contains(document.activeElement) ? document.activeElement.dataset.room : undefined;
  list.replaceChildren(...sorted(rooms).map((room) => entry(room, room === shown, me, open)));
  if (focused !== undefined) [...list.querySelectorAll("button")].find((b) => b.dataset.room === focused)?.focus();
}

function entry(room, current, me, open) {
  const li = document.createElement("li");
  const button = document.createElement("button");
  button.type = "button";
  button.dataset.room = room.name;
  const name = document.createElement("span");
  name.textContent = room.name;
  button.append(name);
  if (current) button.setAttribute("aria-current", "true");
  if (!room.direct && !room.joined) button.classList.add("out");
  const { all, mine } = counts(room, me);
  if (all > 0 && !current) {
    const badge = document.createElement("span");
    badge.className = mine > 0 ? "badge mine" : "badge";
    badge.textContent = all > 99 ? "99+" : all;
    badge.setAttribute("aria-label", `${all} unread`);
    button.append(" ", badge);
    button.classList.add("unread");
  }
  button.addEventListener("click", () => open(room));
  li.append(button);
  return li;
}

const ranks = { "~": "founder", "&": "admin", "@": "operator", "%": "half-operator", "+": "voice" };

function small(text) {
  const e = document.createElement("span");
  e.className = "rank";
  e.textContent = text;
  return e;
}

// drawPeople draws the members of a room.
export function drawPeople(list, room, talk) {
  list.replaceChildren(...room.sorted().map((p) => {
    const li = document.createElement("li");
    const button = document.createElement("button");
    button.type = "button";
    const name = document.createElement("span");
    name.className = `nick nick-${hue(p.nick)}`;
    name.textContent = p.nick;
    button.append(name);
    const also = [ranks[p.rank[0]], p.away && "away"].filter(Boolean).join(", ");
    if (also) button.append(small(also));
    if (p.away) button.classList.add("away");
    button.title = p.away ? `Talk to ${p.nick}, who is away` : `Talk to ${p.nick}`;
    button.addEventListener("click", () => talk(p.nick));
    li.append(button);
    return li;
  }));
}
