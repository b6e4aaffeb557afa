// The client: the state of the connection, its rooms, and the handling of incoming lines. login.js
// has the login, history.js the messages, talk.js what the user sends.

import { Batches } from "./batches.js";
import { fold, isRoom, line, parse } from "./irc.js";
import { handlers } from "./commands.js";
import { addHistoryPage, catchUp, searchReceived } from "./history.js";
import { Room } from "./room.js";
import { Socket } from "./socket.js";

export class Client {
  // ui has these callbacks:
  //   changed(what, room): a part of the page must be drawn again: "rooms", "people", "messages" or
  //     "typing"; room: the only room that has changed, undefined for any
  //   state(text): shows the state of the connection; "": connected
  //   refused(why): the login failed, and the connection is closed
  //   ready(): the login succeeded, at first or after a loss
  //   lost(): the connection was lost
  //   liveMessage(room, message): a message has just arrived, not from the history
  //   showError(room, text): shows an error in a room; null: in the current one
  //   found(results, why): the results of a search; null if it failed, and why is the reason
  //   token(token, why): the token for an upload; "" if it was refused, and why is the reason
  //   show(room, msgid): opens a room and scrolls to a message
  constructor(ui) {
    this.ui = ui;
    this.rooms = new Map(); // by folded name
    this.network = "Chat";
    // grows when the connection is opened and when it is lost: work that was started before
    // compares it and stops
    this.connectionEpoch = 0;
    this.ready = false; // logged in on this connection
    this.entered = false; // was logged in once: after a loss the socket tries again
    this.caps = new Set(); // capabilities that the server granted
    this.offered = new Map(); // capabilities that the server offers: name=value by name
    this.supported = new Map(); // tokens of ISUPPORT (005)
    this.socket = new Socket({
      opened: () => this.opened(),
      received: (text) => this.received(text),
      lost: (seconds) => this.lost(seconds),
    });
  }

  // connect connects and logs in. login = {kind: "account", "invite" or "guest", name, password,
  // invite}. The rooms are joined after the registration.
  connect(login, rooms) {
    Object.assign(this, login, { nick: login.name, account: "", entered: false, away: false });
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

  // opened starts the registration on a new connection.
  opened() {
    this.connectionEpoch++;
    this.offered = new Map();
    this.caps = new Set();
    this.batches = new Batches((batch) => this.handleBatch(batch));
    // outstanding CHATHISTORY requests, by folded target: [{kind, room, into}]
    this.requests = new Map();
    this.ready = false;
    this.scram = null;
    this.send("CAP", ["LS", "302"]);
    this.nick = this.name;
    this.send("NICK", [this.nick]);
    this.send("USER", [this.nick, "0", "*", this.name]);
  }

  // lost handles the loss of the connection. seconds is the time until the next try.
  lost(seconds) {
    this.ready = false;
    this.connectionEpoch++;
    for (const room of this.rooms.values()) room.lost();
    this.ui.found(null, "The connection was lost.");
    this.ui.lost();
    if (!this.entered) {
      this.refuse("The server does not answer. Is it running, and are you online?");
      return;
    }
    this.ui.state(`The connection was lost: next try in ${seconds} s`);
    this.ui.changed("people");
  }

  // refuse aborts the login.
  refuse(why) {
    this.socket.close();
    this.ui.refused(why);
  }

  received(text) {
    const m = parse(text.replace(/[\r\n]+$/, ""));
    if (!this.batches.take(m)) this.handle(m);
  }

  handle(m) {
    const isErrorNumeric = /^[45]\d\d$/.test(m.command);
    const handler = handlers[m.command] ?? (isErrorNumeric ? handlers.failure : undefined);
    handler?.(this, m);
  }

  // handleBatch handles a complete batch.
  handleBatch(batch) {
    if (batch.type === "chathistory") addHistoryPage(this, batch);
    else if (batch.type === "search") searchReceived(this, batch);
    else batch.items.forEach((m) => this.handle(m));
  }

  // welcomed finishes the registration and joins the rooms again.
  welcomed() {
    if (this.ready) return;
    this.ready = this.entered = true;
    this.socket.resetBackoff();
    this.ui.state("");
    this.ui.ready();
    if (this.away) this.send("AWAY", [this.away]);
    for (const room of this.rooms.values()) {
      if (room.direct) this.resume(room);
      else if (room.wanted) this.send("JOIN", room.key ? [room.name, room.key] : [room.name]);
    }
    if (this.account) this.send("CHATHISTORY", ["TARGETS", "timestamp=1970-01-01T00:00:00.001Z", "timestamp=9999-01-01T00:00:00.000Z", "100"]);
  }

  // resume continues a conversation on a new connection.
  resume(room) {
    catchUp(this, room);
    if (this.account) this.send("MARKREAD", [room.name]);
  }

  // room returns the room or conversation with a name and creates it if needed.
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
    else if (!room.synced) catchUp(this, room);
    return room;
  }

  leave(room) {
    if (room.joined) this.send("PART", [room.name]);
    this.rooms.delete(fold(room.name));
    this.ui.changed("rooms");
  }

  // roomOf returns the room or conversation of a live message.
  roomOf(m) {
    const target = m.params[0].replace(/^[~&@%+]+(?=#)/, "");
    if (isRoom(target)) return this.rooms.get(fold(target));
    if (m.nick.includes(".")) return undefined; // the server
    const other = fold(target) === fold(this.nick) ? m.nick : target;
    const known = this.rooms.get(fold(other));
    if (known || m.command === "TAGMSG") return known; // typing alone does not open a conversation
    const room = this.room(other);
    // the conversation is new, so nothing of it has been read
    room.readTo = room.dividerTime = 0;
    catchUp(this, room);
    return room;
  }

  // setAway sets the user away with a reason; "" ends it.
  setAway(why) {
    this.away = why;
    this.send("AWAY", why ? [why] : []);
  }

  // markRead marks a room as read up to a time, in milliseconds since 1970. The marker is sent only
  // if the room has its history without a gap: otherwise it could pass messages that this page has
  // not received.
  markRead(room, time) {
    if (time <= room.readTo) return;
    room.readTo = time;
    this.ui.changed("rooms");
    this.sendMarker(room, time);
  }

  // sendMarker sends a read marker. It is sent again after each loss of the connection, until the
  // server confirms it.
  sendMarker(room, time) {
    if (!this.ready || !this.account || !room.synced || !room.completeTo) return;
    room.markerSent = time;
    this.send("MARKREAD", [room.name, `timestamp=${new Date(time).toISOString()}`]);
  }
}
