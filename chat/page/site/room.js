// A room, or a conversation with one person: who is in it and what was said, once each and in
// order.

import { fold, isRoom, offset } from "./irc.js";

const ranks = "~&@%+";
const typingFor = 6500; // milliseconds, without another word of it

export class Room {
  constructor(name) {
    this.name = name;
    this.topic = "";
    this.people = new Map(); // by folded nick: {nick, rank, away}
    this.messages = []; // those of the log by offset; others where they came
    this.ids = new Map(); // messages by id
    // by id of their message: Map of reaction to Map of folded nick to {nick, id}
    this.reactions = new Map();
    this.typing = new Map(); // by folded nick: {nick, until}
    this.typed = 0; // when we last told that we type
    this.sending = []; // said, and not acknowledged: {id, parts, text, reply}
    this.past = null; // an older part of the history that is looked at: a Room
    this.oldest = ""; // id of the oldest line that came
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

  // lost forgets what belongs to a connection.
  lost() {
    Object.assign(this, { synced: false, joined: false, loading: false, liveFrom: NaN, people: new Map(), typing: new Map(), typed: 0 });
    if (this.past) this.past.loading = false;
  }

  // add takes a message; it is false when it is there already.
  add(m) {
    if (m.id && this.ids.has(m.id)) return false;
    if (m.id) this.ids.set(m.id, m);
    this.messages.splice(this.placeOf(m), 0, m);
    return true;
  }

  // placeOf is where a message belongs: behind what has a smaller offset, or, without one, what is
  // not later.
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

  // change replaces a message by itself with changes, so that it is drawn again.
  change(id, changes) {
    for (const view of [this, this.past]) {
      const m = view?.ids.get(id);
      if (!m) continue;
      const now = { ...m, ...changes };
      view.ids.set(id, now);
      view.messages[view.messages.indexOf(m)] = now;
    }
  }

  // redact takes the text of a message away, or a reaction.
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

  // react takes what somebody thinks of a message.
  react(to, reaction, nick, id) {
    if (!this.reactions.has(to)) this.reactions.set(to, new Map());
    const all = this.reactions.get(to);
    if (!all.has(reaction)) all.set(reaction, new Map());
    all.get(reaction).set(fold(nick), { nick, id });
    this.change(to, {});
  }

  // reactionOf is the id of somebody's reaction; undefined if there is none.
  reactionOf(to, reaction, nick) {
    return this.reactions.get(to)?.get(reaction)?.get(fold(nick))?.id;
  }

  // types notes that somebody types: "active", "paused" or "done".
  types(nick, how) {
    if (how === "active") this.typing.set(fold(nick), { nick, until: Date.now() + typingFor });
    else this.typing.delete(fold(nick));
  }

  // typists are who types now.
  typists() {
    for (const [key, t] of this.typing) if (t.until < Date.now()) this.typing.delete(key);
    return [...this.typing.values()].map((t) => t.nick);
  }

  // first is the id of the oldest line of the log that is here, whether it is shown or not.
  first() {
    const shown = this.messages.find((m) => !Number.isNaN(m.offset))?.id ?? "";
    return offset(this.oldest) < offset(shown) || shown === "" ? this.oldest : shown;
  }

  // saw notes that a line is here.
  saw(id) {
    if (!(offset(id) >= offset(this.oldest)) && !Number.isNaN(offset(id))) this.oldest = id;
  }

  // reached says that all up to a message is here.
  reached(id) {
    if (!(offset(id) <= offset(this.upTo))) this.upTo = id;
  }

  // forget drops what is known of the log: it is another one.
  forget() {
    Object.assign(this, { messages: [], oldest: "", upTo: "", started: false, past: null });
    this.ids.clear();
    this.reactions.clear();
  }

  unread(me) {
    return this.messages.filter((m) => m.text && !m.event && m.time > this.readTo && fold(m.nick) !== fold(me));
  }

  // names takes a list of NAMES.
  names(list) {
    for (const word of list.split(" ").filter(Boolean)) {
      const at = [...word].findIndex((c) => !ranks.includes(c));
      const nick = word.slice(at).split("!")[0];
      this.people.set(fold(nick), { ...this.people.get(fold(nick)), nick, rank: word.slice(0, at) });
    }
  }

  // operator says whether somebody has a say here.
  operator(nick) {
    return /[~&@%]/.test(this.people.get(fold(nick))?.rank ?? "");
  }

  // sorted are the people: by rank, then by name.
  sorted() {
    const order = (p) => (p.rank ? ranks.indexOf(p.rank[0]) : ranks.length);
    return [...this.people.values()].sort((a, b) => order(a) - order(b) || fold(a.nick).localeCompare(fold(b.nick)));
  }
}
