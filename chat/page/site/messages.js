// The list of messages: only what has changed is touched, and the place where one reads stays where it is.

import { hue, render } from "./text.js";
import { fold } from "./irc.js";

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const date = new Intl.DateTimeFormat(undefined, { weekday: "long", day: "numeric", month: "long", year: "numeric" });
const together = 5 * 60e3; // messages of one person within this time are shown as one
const few = 10; // new messages at once, at most, that are read out to those who hear the page
const most = 1500; // messages that a room which is followed keeps

function element(kind, name, text) {
  const e = document.createElement(kind);
  if (name) e.className = name;
  if (text !== undefined) e.textContent = text;
  return e;
}

export class Messages {
  // Log is the element that scrolls.
  constructor(log) {
    this.log = log;
    this.nodes = new Map(); // by message, or by name of a divider
    this.room = null;
  }

  get atEnd() {
    return this.log.scrollHeight - this.log.scrollTop - this.log.clientHeight < 40;
  }

  toEnd() {
    this.log.scrollTop = this.log.scrollHeight;
  }

  // show shows a room, as me.
  show(room, me) {
    const other = room !== this.room;
    if (other) {
      this.log.replaceChildren();
      this.nodes.clear();
      this.room = room;
    }
    const end = other || this.atEnd;
    if (end) trim(room);
    const anchor = [...this.log.children].find((n) => n.offsetTop + n.offsetHeight > this.log.scrollTop && n.dataset.id);
    const before = anchor?.offsetTop;
    const items = this.items(room, me);
    this.announce(!other && items.filter(([key]) => !this.nodes.has(key)).length <= few);
    this.place(items);
    if (end) this.toEnd();
    else if (anchor?.isConnected) this.log.scrollTop += anchor.offsetTop - before;
  }

  // announce says whether what is added now is read out: what is new is, a page of old messages is not.
  announce(aloud) {
    clearTimeout(this.timer);
    this.log.setAttribute("aria-live", aloud ? "polite" : "off");
    if (!aloud) this.timer = setTimeout(() => this.log.setAttribute("aria-live", "polite"), 1000);
  }

  // items are what is shown: [key, make, first] in order; first says that a message has a head of its own.
  items(room, me) {
    const items = [];
    let day = "", last = null, fresh = false;
    if (room.started) items.push(["begin", () => element("div", "begin", room.direct ? "This is where the conversation begins." : "This is where the room begins.")]);
    for (const m of room.messages) {
      const its = date.format(m.time);
      if (its !== day) items.push([`day ${its}`, () => element("div", "divider", its)]);
      if (!fresh && m.time > room.marker && !m.local && fold(m.nick) !== fold(me)) {
        fresh = true;
        if (last) items.push(["new", () => element("div", "divider new", "New")]);
      }
      const first = !last || its !== day || last.event || last.action || last.local || m.event || m.action || last.nick !== m.nick || m.time - last.time > together;
      items.push([m, () => message(m, me), first]);
      [day, last] = [its, m];
    }
    for (const s of room.sending) items.push([s, () => message({ ...s, text: s.text.replace(/^\x01ACTION /, ""), nick: me, time: Date.now(), waiting: true }, me), true]);
    return items;
  }

  // place makes the items the log's children, in order.
  place(items) {
    const keep = new Set(items.map(([key]) => key));
    for (const [key, node] of this.nodes) {
      if (keep.has(key)) continue;
      node.remove();
      this.nodes.delete(key);
    }
    let at = this.log.firstChild;
    for (const [key, make, first] of items) {
      let node = this.nodes.get(key);
      if (!node) this.nodes.set(key, (node = make()));
      if (first !== undefined) node.classList.toggle("more", !first);
      if (node === at) at = at.nextSibling;
      else this.log.insertBefore(node, at);
    }
  }
}

// trim forgets the oldest messages of a room that has very many; they can be scrolled to.
function trim(room) {
  if (room.messages.length < most || room.loading) return;
  for (const m of room.messages.splice(0, room.messages.length - most / 2)) room.ids.delete(m.id);
  room.started = false;
}

function message(m, me) {
  const e = element("article", "message");
  e.dataset.id = m.id || "-";
  if (m.local) e.classList.add("local");
  if (m.event || m.action) e.classList.add("event");
  if (m.waiting) e.classList.add("waiting");
  if (m.nick) e.append(element("span", `nick nick-${hue(m.nick)}`, m.nick), " ");
  const time = element("time", "", clock.format(m.time));
  time.dateTime = new Date(m.time).toISOString();
  time.title = new Date(m.time).toLocaleString();
  const text = element("span", "text");
  render(text, m.text, fold(m.nick ?? "") === fold(me) ? "" : me);
  e.append(time, " ", text);
  if (text.querySelector("mark")) e.classList.add("mention");
  if (m.waiting) e.append(" ", element("span", "note", "not yet sent"));
  return e;
}
