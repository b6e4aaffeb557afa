// The client: signs in, knows the rooms, and catches up after every loss of the connection.

import { Batches } from "./batches.js";
import { base64, chunks, fold, isRoom, line, offset, parse, pieces } from "./irc.js";
import { handlers } from "./commands.js";
import { Room } from "./room.js";
import { Socket } from "./socket.js";

const wanted = ["message-tags", "server-time", "batch", "labeled-response", "echo-message", "standard-replies", "account-tag", "multi-prefix",
  "away-notify", "setname", "cap-notify", "draft/chathistory", "draft/event-playback", "draft/read-marker", "draft/multiline"];

// ownId is the tag by which what we said is found again in the history.
const ownId = "+weir.page/id";
const page = 100; // lines asked for at once
const textBytes = 380; // of one message

export class Client {
  // ui: changed(what, room), state(text), refused(why), ready(), heard(room, message), wrong(room, text).
  constructor(ui) {
    this.ui = ui;
    this.rooms = new Map(); // by folded name
    this.network = "Chat";
    this.socket = new Socket({
      opened: () => this.opened(),
      received: (text) => this.received(text),
      lost: (seconds) => this.lost(seconds),
    });
  }

  // connect signs in: as a guest without a password. Rooms are joined when that is done.
  connect(nick, password, rooms) {
    Object.assign(this, { nick, name: nick, password, account: "", entered: false });
    for (const name of rooms) this.room(name).wanted = true;
    this.ui.state("Connecting …");
    this.socket.connect();
  }

  close() {
    this.send("QUIT", ["Signed out"]);
    this.socket.close();
  }

  send(command, params, tags) {
    this.socket.send(line(command, params, tags));
  }

  opened() {
    this.offered = new Map();
    this.batches = new Batches((batch) => this.whole(batch));
    this.requests = new Map(); // of history, by folded target: [{kind, room}]
    this.ready = false;
    this.send("CAP", ["LS", "302"]);
    this.nick = this.name;
    this.send("NICK", [this.nick]);
    this.send("USER", [this.nick, "0", "*", this.name]);
  }

  lost(seconds) {
    this.ready = false;
    for (const room of this.rooms.values()) Object.assign(room, { synced: false, joined: false, loading: false, liveFrom: NaN, people: new Map() });
    if (!this.entered) {
      this.refuse("The server does not answer. Is it running, and are you online?");
      return;
    }
    this.ui.state(`The connection was lost: next try in ${seconds} s`);
    this.ui.changed("people");
  }

  // refuse ends the attempt to come in.
  refuse(why) {
    this.socket.close();
    this.ui.refused(why);
  }

  received(text) {
    const m = parse(text.replace(/[\r\n]+$/, ""));
    if (!this.batches.take(m)) this.handle(m);
  }

  handle(m) {
    const numeric = /^[45]\d\d$/.test(m.command);
    const handler = handlers[m.command] ?? (numeric ? handlers.failure : undefined);
    handler?.(this, m);
  }

  // whole takes a batch.
  whole(batch) {
    if (batch.type === "chathistory") this.history(batch);
    else batch.items.forEach((m) => this.handle(m));
  }

  // negotiate asks for what both know.
  negotiate() {
    const ask = wanted.filter((name) => this.offered.has(name));
    if (this.password) ask.push("sasl");
    this.send("CAP", ["REQ", ask.join(" ")]);
  }

  authenticate() {
    if (this.password) this.send("AUTHENTICATE", ["PLAIN"]);
    else this.send("CAP", ["END"]);
  }

  prove() {
    for (const part of chunks(base64(`\0${this.name}\0${this.password}`))) this.send("AUTHENTICATE", [part]);
  }

  // welcomed joins what was joined before.
  welcomed() {
    if (this.ready) return;
    this.ready = this.entered = true;
    this.socket.settled();
    this.ui.state("");
    this.ui.ready();
    for (const room of this.rooms.values()) {
      if (room.direct) this.resume(room);
      else if (room.wanted) this.send("JOIN", room.key ? [room.name, room.key] : [room.name]);
    }
    if (this.account) this.send("CHATHISTORY", ["TARGETS", "timestamp=1970-01-01T00:00:00.001Z", "timestamp=9999-01-01T00:00:00.000Z", "100"]);
  }

  // resume goes on with a conversation.
  resume(room) {
    this.catchUp(room);
    if (this.account) this.send("MARKREAD", [room.name]);
  }

  // room is the room or conversation of a name; it is made if need be.
  room(name) {
    let room = this.rooms.get(fold(name));
    if (!room) {
      room = new Room(name);
      this.rooms.set(fold(name), room);
      this.ui.changed("rooms");
    }
    return room;
  }

  join(name, key) {
    const room = this.room(name);
    Object.assign(room, { wanted: true, key });
    if (!this.ready) return room;
    if (!room.direct) this.send("JOIN", key ? [name, key] : [name]);
    else if (!room.synced) this.catchUp(room);
    return room;
  }

  leave(room) {
    if (room.joined) this.send("PART", [room.name]);
    this.rooms.delete(fold(room.name));
    this.ui.changed("rooms");
  }

  // ask asks for history.
  ask(kind, room, point, lines) {
    const key = fold(room.name);
    if (!this.requests.has(key)) this.requests.set(key, []);
    this.requests.get(key).push({ kind, room });
    this.send("CHATHISTORY", [kind, room.name, point, String(lines)]);
  }

  // catchUp asks for what came since the last message up to which all is here.
  catchUp(room) {
    room.synced = false;
    if (room.upTo) this.ask("AFTER", room, `msgid=${room.upTo}`, 2 * page);
    else this.ask("LATEST", room, "*", page);
  }

  older(room) {
    if (!this.ready || room.started || room.loading || !room.synced || !room.first()) return;
    room.loading = true;
    this.ask("BEFORE", room, `msgid=${room.first()}`, page);
  }

  history(batch) {
    const request = this.requests.get(fold(batch.params[0] ?? ""))?.shift();
    if (!request) return;
    const { kind, room } = request;
    let last = "";
    for (const m of batch.items) {
      if (!Number.isNaN(offset(m.tags.get("msgid")))) last = m.tags.get("msgid");
      this.take(room, m, true);
    }
    if (kind === "BEFORE") Object.assign(room, { loading: false, started: last === "" });
    else if (kind === "AFTER" && last && !(offset(last) >= room.liveFrom)) this.more(room, last);
    else this.caughtUp(room, last);
    this.ui.changed("messages", room);
  }

  more(room, last) {
    room.reached(last);
    this.catchUp(room);
  }

  // caughtUp: from now on what comes live has no gap before it.
  caughtUp(room, last) {
    if (last) room.reached(last);
    else if (!room.upTo) room.started = true;
    room.synced = true;
    const end = room.messages.findLast((m) => !Number.isNaN(m.offset));
    if (end) room.reached(end.id);
    if (room.readTo === Infinity) room.readTo = room.marker = end?.time ?? 0;
    for (const s of room.sending) this.utter(room, s);
    this.ui.changed("rooms");
  }

  // historyFailed: there is none, or not of this log.
  historyFailed(code, target) {
    const request = this.requests.get(fold(target))?.shift();
    if (!request) return;
    if (code === "INVALID_MSGREFTYPE" && request.kind === "AFTER") {
      request.room.forget();
      this.catchUp(request.room);
    } else {
      request.room.loading = false;
      request.room.started = true;
      this.caughtUp(request.room, "");
    }
  }

  // take takes a message for a room, live or from the history.
  take(room, m, old) {
    const said = m.tags.get(ownId);
    if (said) room.sending = room.sending.filter((s) => s.id !== said);
    const message = messageOf(m);
    if (!message || !room.add(message)) return;
    if (!old && !room.synced && Number.isNaN(room.liveFrom)) room.liveFrom = message.offset;
    if (!old && room.synced && message.id && !Number.isNaN(message.offset)) room.reached(message.id);
    if (!old) this.ui.heard(room, message);
    this.ui.changed("messages", room);
  }

  // live is where a message that was just said belongs.
  live(m) {
    const target = m.params[0].replace(/^[~&@%+]+(?=#)/, "");
    if (isRoom(target)) return this.rooms.get(fold(target));
    if (m.nick.includes(".")) return undefined; // the server
    const other = fold(target) === fold(this.nick) ? m.nick : target;
    const known = this.rooms.get(fold(other));
    if (known) return known;
    const room = this.room(other);
    room.readTo = room.marker = 0;
    this.catchUp(room);
    return room;
  }

  // say says something in a room; it is kept until it is acknowledged, over any number of connections.
  say(room, text) {
    for (const piece of pieces(text, textBytes)) {
      const s = { id: crypto.getRandomValues(new Uint32Array(3)).join("."), text: piece };
      room.sending.push(s);
      if (this.ready && room.synced) this.utter(room, s);
    }
    this.ui.changed("messages", room);
  }

  utter(room, s) {
    this.send("PRIVMSG", [room.name, s.text], { label: s.id, [ownId]: s.id });
  }

  // markRead says that a room was read up to a time.
  markRead(room, time) {
    if (time <= room.readTo) return;
    room.readTo = time;
    this.ui.changed("rooms");
    if (this.ready && this.account && room.synced && room.upTo) this.send("MARKREAD", [room.name, `timestamp=${new Date(time).toISOString()}`]);
  }
}

// messageOf is a line as the page shows it; undefined for what it does not show.
function messageOf(m) {
  const id = m.tags.get("msgid") ?? "";
  const at = Date.parse(m.tags.get("time") ?? "");
  const message = { id, offset: offset(id), time: Number.isNaN(at) ? Date.now() : at, nick: m.nick };
  const text = m.params[1] ?? "";
  if (m.command === "TOPIC") return { ...message, event: true, text: text ? `changed the topic to: ${text}` : "took the topic away" };
  if (m.command !== "PRIVMSG" && m.command !== "NOTICE") return undefined;
  const action = /^\x01ACTION ([^]*?)\x01?$/.exec(text);
  if (!action && text[0] === "\x01") return undefined;
  return { ...message, text: action ? action[1] : text, action: !!action, notice: m.command === "NOTICE" };
}
