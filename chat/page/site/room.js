// A room, or a conversation with one person: who is in it and what was said, once each and in order.

import { fold, isRoom, offset } from "./irc.js";

const ranks = "~&@%+";

export class Room {
  constructor(name) {
    this.name = name;
    this.topic = "";
    this.people = new Map(); // by folded nick: {nick, rank, away}
    this.messages = []; // those of the log by offset; others where they came
    this.ids = new Set(); // of messages
    this.sending = []; // said, and not acknowledged: {id, target, text}
    this.upTo = ""; // id of the message up to which all is here; "": none is
    this.synced = false; // what comes live follows upTo without a gap
    this.started = false; // nothing is older than the first message
    this.loading = false; // older ones were asked for
    this.joined = false;
    this.wanted = false; // to be joined again when the connection is back
    this.liveFrom = NaN; // offset of the first message that came live since the connection began
    this.readTo = Infinity; // time, milliseconds, up to which it was read; not known yet
    this.marker = Infinity; // readTo when the room was opened: where the line "new" is
    this.marked = false; // the server has told readTo
    this.draft = "";
  }

  get direct() {
    return !isRoom(this.name);
  }

  // add takes a message; it is false when it is there already.
  add(m) {
    if (m.id && this.ids.has(m.id)) return false;
    if (m.id) this.ids.add(m.id);
    this.messages.splice(this.placeOf(m), 0, m);
    return true;
  }

  // placeOf is where a message belongs: behind what has a smaller offset, or, without one, what is not later.
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

  // first is the id of the oldest message of the log.
  first() {
    return this.messages.find((m) => !Number.isNaN(m.offset))?.id ?? "";
  }

  // reached says that all up to a message is here.
  reached(id) {
    if (!(offset(id) <= offset(this.upTo))) this.upTo = id;
  }

  // forget drops what is known of the log: it is another one.
  forget() {
    this.messages = [];
    this.ids.clear();
    this.upTo = "";
    this.started = false;
  }

  unread(me) {
    return this.messages.filter((m) => m.text !== undefined && !m.event && m.time > this.readTo && fold(m.nick) !== fold(me));
  }

  // names takes a list of NAMES.
  names(list) {
    for (const word of list.split(" ").filter(Boolean)) {
      const at = [...word].findIndex((c) => !ranks.includes(c));
      const nick = word.slice(at).split("!")[0];
      this.people.set(fold(nick), { nick, rank: word.slice(0, at) });
    }
  }

  // sorted are the people: by rank, then by name.
  sorted() {
    const order = (p) => (p.rank ? ranks.indexOf(p.rank[0]) : ranks.length);
    return [...this.people.values()].sort((a, b) => order(a) - order(b) || fold(a.nick).localeCompare(fold(b.nick)));
  }
}
