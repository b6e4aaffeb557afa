// A room, or a direct conversation: its members and its messages, each once and in order.

import { fold, isRoom, offset } from "./irc.js";

const ranks = "~&@%+";
const typingFor = 6500; // milliseconds until a typing notification expires

export class Room {
  constructor(name) {
    this.name = name;
    this.topic = "";
    this.people = new Map(); // by folded nick: {nick, rank, away}
    this.messages = []; // stored messages by offset; local ones in order of arrival
    this.ids = new Map(); // messages by id
    // by id of the message: Map of reaction to Map of folded nick to {nick, id}
    this.reactions = new Map();
    this.typing = new Map(); // by folded nick: {nick, until}
    this.typingSentAt = 0; // time of our last typing notification
    this.sending = []; // sent or queued, not acknowledged: {id, parts, text, reply}
    this.past = null; // a separate older part of the history that is shown: a Room
    this.oldest = ""; // id of the oldest line received
    this.completeTo = ""; // id of the message up to which the room is complete; "" if none
    this.synced = false; // live messages follow completeTo without a gap
    this.startReached = false; // no message is older than the first one
    this.loading = false; // older messages have been requested
    this.joined = false;
    this.wanted = false; // to be joined again after a reconnect
    this.firstLiveOffset = NaN; // offset of the first live message of this connection
    this.readTo = Infinity; // read marker: time in milliseconds; Infinity while unknown
    this.dividerTime = Infinity; // readTo when the room was opened: the place of the divider "new"
    this.readMarkerKnown = false; // the server has sent the read marker
    this.markerSent = 0; // the read marker that the server has not confirmed; 0: there is none
    this.draft = "";
  }

  get direct() {
    return !isRoom(this.name);
  }

  // lost discards the state of the last connection.
  lost() {
    Object.assign(this, { synced: false, joined: false, loading: false, firstLiveOffset: NaN, people: new Map(), typing: new Map(), typingSentAt: 0 });
    if (this.past) this.past.loading = false;
  }

  // add inserts a message. It returns false if it is already there.
  add(m) {
    if (m.id && this.ids.has(m.id)) return false;
    if (m.id) this.ids.set(m.id, m);
    this.messages.splice(this.placeOf(m), 0, m);
    return true;
  }

  // placeOf returns the index for a message: after all messages with a smaller offset, or if it has
  // none, after all that are not newer.
  placeOf(m) {
    let at = this.messages.length;
    const logged = !Number.isNaN(m.offset);
    while (at > 0) {
      const before = this.messages[at - 1];
      if (logged && !Number.isNaN(before.offset) ? before.offset < m.offset : before.time <= m.time) break;
      at--;
    }
    return at;
  }

  // change replaces a message by a changed copy, so that it is drawn again.
  change(id, changes) {
    for (const view of [this, this.past]) {
      const m = view?.ids.get(id);
      if (!m) continue;
      const now = { ...m, ...changes };
      view.ids.set(id, now);
      view.messages[view.messages.indexOf(m)] = now;
    }
  }

  // redact deletes the text of a message, or a reaction.
  redact(id) {
    for (const [to, all] of this.reactions) {
      for (const [reaction, by] of all) {
        for (const [nick, r] of by) if (r.id === id) by.delete(nick);
        if (by.size === 0) all.delete(reaction);
      }
      this.change(to, {});
    }
    this.change(id, { text: "", redacted: true });
    for (const m of [...this.messages, ...(this.past?.messages ?? [])]) if (m.reply === id) this.change(m.id, {});
  }

  // react stores a user's reaction to a message.
  react(to, reaction, nick, id) {
    if (!this.reactions.has(to)) this.reactions.set(to, new Map());
    const all = this.reactions.get(to);
    if (!all.has(reaction)) all.set(reaction, new Map());
    all.get(reaction).set(fold(nick), { nick, id });
    this.change(to, {});
  }

  // reactionOf returns the id of a user's reaction; undefined if there is none.
  reactionOf(to, reaction, nick) {
    return this.reactions.get(to)?.get(reaction)?.get(fold(nick))?.id;
  }

  // setTyping stores a typing notification: "active", "paused" or "done".
  setTyping(nick, how) {
    if (how === "active") this.typing.set(fold(nick), { nick, until: Date.now() + typingFor });
    else this.typing.delete(fold(nick));
  }

  // typists returns the users who are typing.
  typists() {
    for (const [key, t] of this.typing) if (t.until < Date.now()) this.typing.delete(key);
    return [...this.typing.values()].map((t) => t.nick);
  }

  // first returns the id of the oldest line that was received, shown or not.
  first() {
    const shown = this.messages.find((m) => !Number.isNaN(m.offset))?.id ?? "";
    return offset(this.oldest) < offset(shown) || shown === "" ? this.oldest : shown;
  }

  // recordReceived records that a line was received.
  recordReceived(id) {
    if (!(offset(id) >= offset(this.oldest)) && !Number.isNaN(offset(id))) this.oldest = id;
  }

  // recordComplete records that the room is complete up to a message.
  recordComplete(id) {
    if (!(offset(id) <= offset(this.completeTo))) this.completeTo = id;
  }

  // clear discards all messages: the log is a different one.
  clear() {
    Object.assign(this, { messages: [], oldest: "", completeTo: "", startReached: false, past: null });
    this.ids.clear();
    this.reactions.clear();
  }

  unread(me) {
    return this.messages.filter((m) => m.text && !m.event && m.time > this.readTo && fold(m.nick) !== fold(me));
  }

  // names handles a line of a NAMES reply.
  names(list) {
    for (const word of list.split(" ").filter(Boolean)) {
      const at = [...word].findIndex((c) => !ranks.includes(c));
      const nick = word.slice(at).split("!")[0];
      this.people.set(fold(nick), { ...this.people.get(fold(nick)), nick, rank: word.slice(0, at) });
    }
  }

  // operator reports whether a user may moderate the room.
  operator(nick) {
    return /[~&@%]/.test(this.people.get(fold(nick))?.rank ?? "");
  }

  // sorted returns the members by rank, then by name.
  sorted() {
    const order = (p) => (p.rank ? ranks.indexOf(p.rank[0]) : ranks.length);
    return [...this.people.values()].sort((a, b) => order(a) - order(b) || fold(a.nick).localeCompare(fold(b.nick)));
  }
}
