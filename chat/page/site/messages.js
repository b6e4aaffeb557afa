// The list of messages. It updates only changed elements and keeps the scroll position.

import { fold } from "./irc.js";
import { element, message } from "./message.js";

const date = new Intl.DateTimeFormat(undefined, { weekday: "long", day: "numeric", month: "long", year: "numeric" });
const sameHeadMs = 5 * 60e3; // messages of one user within this time (ms) share one head
const maxAnnounced = 10; // at most this many new messages are announced to screen readers
const maxKept = 1500; // messages that a room keeps while it is scrolled to the end

export class Messages {
  // log is the scrolling element; acts = {jump(id), react(message, reaction)}.
  constructor(log, acts) {
    this.log = log;
    this.acts = acts;
    this.nodes = new Map(); // elements by message, or by name of a divider
    this.room = null; // a room, or the past of one
    this.followsEnd = true; // scrolled to the end: stays there when sizes change
    const stay = () => this.followsEnd && this.toEnd();
    const size = () => `${log.clientWidth} ${log.clientHeight} ${log.scrollHeight}`;
    let last = ""; // a scroll event after a change of size was not caused by the user
    log.addEventListener("scroll", () => {
      if (size() === last) this.followsEnd = this.atEnd;
      else stay();
      last = size();
    });
    log.addEventListener("load", stay, { capture: true }); // of pictures
    new ResizeObserver(stay).observe(log);
  }

  get atEnd() {
    return this.log.scrollHeight - this.log.scrollTop - this.log.clientHeight < 40;
  }

  toEnd() {
    this.followsEnd = true;
    this.log.scrollTop = this.log.scrollHeight;
  }

  // show shows a room, or its past, to the user with the nick me.
  show(room, me, whole) {
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
    const items = this.items(room, { me, room: whole, ...this.acts });
    const focused = document.activeElement?.closest?.("article")?.dataset.id;
    this.announce(!other && items.filter(([key]) => !this.nodes.has(key)).length <= maxAnnounced);
    this.place(items);
    if (focused && !this.log.contains(document.activeElement)) this.node(focused)?.focus({ preventScroll: true });
    this.updateTabStop();
    const now = anchor && (anchor.isConnected ? anchor : this.node(anchor.dataset.id));
    if (end) this.toEnd();
    else if (now) this.log.scrollTop += now.offsetTop - before;
  }

  // node returns the element of a message.
  node(id) {
    return id && this.log.querySelector(`article[data-id="${CSS.escape(id)}"]`);
  }

  // updateTabStop makes one message reachable by Tab: the one with the focus, or the last. Arrow
  // keys move to the others.
  updateTabStop() {
    const all = this.log.querySelectorAll("article");
    const keep = document.activeElement?.closest?.("article") ?? all[all.length - 1];
    for (const e of all) e.tabIndex = e === keep ? 0 : -1;
  }

  // highlight scrolls to a message and highlights it for a while.
  highlight(id) {
    const e = this.node(id);
    if (!e) return false;
    e.scrollIntoView({ block: "center" });
    e.focus({ preventScroll: true });
    e.classList.remove("pointed");
    requestAnimationFrame(() => e.classList.add("pointed"));
    this.updateTabStop();
    return true;
  }

  // announce sets whether added messages are announced to screen readers: new ones are, a page of
  // older ones is not.
  announce(aloud) {
    clearTimeout(this.timer);
    this.log.setAttribute("aria-live", aloud ? "polite" : "off");
    if (!aloud) this.timer = setTimeout(() => this.log.setAttribute("aria-live", "polite"), 1000);
  }

  // items returns what is shown, in order: [key, make, first]. first means that a message has its
  // own head.
  items(room, v) {
    const items = [];
    const { me } = v;
    let day = "", last = null, fresh = false;
    const empty = room.messages.every((m) => m.event) && room.sending.length === 0;
    if (room.startReached) items.push(empty ? [`welcome ${room.topic}`, () => welcome(room)] : ["begin", () => element("div", "begin", room.direct ? "The conversation starts here." : "The room starts here.")]);
    for (const m of room.messages) {
      const its = date.format(m.time);
      if (its !== day) items.push([`day ${its}`, () => element("div", "divider", its)]);
      if (!fresh && m.time > room.dividerTime && !m.local && fold(m.nick) !== fold(me)) {
        fresh = true;
        if (last) items.push(["new", () => element("div", "divider new", "New")]);
      }
      const first = !last || its !== day || last.event || last.action || last.local || m.event || m.action || last.nick !== m.nick || m.time - last.time > sameHeadMs || m.reply;
      items.push([m, () => message(m, v), first]);
      [day, last] = [its, m];
    }
    for (const s of room.sending) items.push([s, () => message({ ...s, id: "", text: s.text.replace(/^\x01ACTION |\x01$/g, ""), nick: me, time: Date.now(), waiting: true }, v), true]);
    return items;
  }

  // place makes the items the children of the log, in order.
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

// welcome renders the hints in an empty room or conversation.
function welcome(room) {
  const box = element("div", "welcome");
  box.append(element("h3", "", room.direct ? `You and ${room.name}` : `Welcome to ${room.name}`));
  if (room.topic) box.append(element("p", "topic", room.topic));
  box.append(element("p", "", "Nothing has been said here yet. Write the first message below."));
  const hints = element("ul", "");
  if (!room.direct) hints.append(element("li", "", "Others join by the same name."));
  hints.append(element("li", "", "Messages are kept: people who join later can read them."));
  hints.append(element("li", "", "/help lists the commands."));
  box.append(hints);
  return box;
}

// trim drops the oldest messages of a long room; scrolling loads them again.
function trim(room) {
  if (room.messages.length < maxKept || room.loading) return;
  for (const m of room.messages.splice(0, room.messages.length - maxKept / 2)) room.ids.delete(m.id);
  Object.assign(room, { startReached: false, oldest: "" });
}
