// Messages: live, from the history, and from a search; each is stored once and in order.
//
// A room holds its newest messages without a gap. If the user opens an old search result, room.past
// holds a separate older part of the history. It is merged with the room when scrolling has loaded
// everything between them.

import { fold, line, offset } from "./irc.js";
import { ownId, utter } from "./talk.js";
import { Room } from "./room.js";

const page = 100; // messages per request

// ask requests history for a room or for its past.
function ask(c, kind, room, point, lines, into = room) {
  const key = fold(room.name);
  if (!c.requests.has(key)) c.requests.set(key, []);
  c.requests.get(key).push({ kind, room, into });
  c.send("CHATHISTORY", [kind, room.name, point, String(lines)]);
}

// catchUp requests the messages after the last one up to which the room is complete.
export function catchUp(c, room) {
  room.synced = false;
  if (room.upTo) ask(c, "AFTER", room, `msgid=${room.upTo}`, 2 * page);
  else ask(c, "LATEST", room, "*", page);
}

// older requests the messages before the first one shown.
export function older(c, room) {
  const view = room.past ?? room;
  if (!c.ready || view.started || view.loading || !room.synced || !view.first()) return;
  view.loading = true;
  ask(c, "BEFORE", room, `msgid=${view.first()}`, page, view);
}

// newer requests the messages after the past that is shown.
export function newer(c, room) {
  const { past } = room;
  if (!c.ready || !past || past.loading || !room.synced) return;
  past.loading = true;
  ask(c, "AFTER", room, `msgid=${past.upTo}`, page, past);
}

// jump shows a message, wherever it is in the history.
export function jump(c, room, id) {
  const view = room.past ?? room;
  if (view.ids.has(id)) c.ui.show(room, id);
  else if (room.ids.has(id)) {
    room.past = null;
    c.ui.show(room, id);
  } else if (c.ready && room.synced) {
    const past = new Room(room.name);
    Object.assign(past, { reactions: room.reactions, goal: id, loading: true });
    ask(c, "AROUND", room, `msgid=${id}`, page, past);
  }
}

// whole handles a page of history.
export function whole(c, batch) {
  const request = c.requests.get(fold(batch.params[0] ?? ""))?.shift();
  if (!request) return;
  const { kind, room, into } = request;
  let last = "";
  for (const m of batch.items) {
    if (!Number.isNaN(offset(m.tags.get("msgid")))) last = m.tags.get("msgid");
    if (kind !== "FILL") into.saw(last);
    if (!batch.cut || m.tags.get("msgid") !== batch.cut) take(c, room, m, true, into);
  }
  if (batch.cut && kind !== "FILL") fill(c, room, into, batch.cut);
  if (into !== room) pastCame(c, room, into, kind, last);
  else if (kind === "BEFORE") Object.assign(room, { loading: false, started: last === "" });
  else if (kind === "AFTER" && last && !(offset(last) >= room.liveFrom)) more(c, room, last);
  else if (kind !== "FILL") caughtUp(c, room, last);
  c.ui.changed("messages", room);
}

// fill requests the rest of a multiline message that was cut at the end of a page.
function fill(c, room, into, id) {
  ask(c, "AROUND", room, `msgid=${id}`, page, into);
  c.requests.get(fold(room.name)).at(-1).kind = "FILL";
}

function more(c, room, last) {
  room.reached(last);
  catchUp(c, room);
}

// pastCame handles a page of a room's past. The past is shown when it has arrived, and merged when
// it reaches the first message of the room.
function pastCame(c, room, past, kind, last) {
  if (kind === "FILL") return;
  past.loading = false;
  if (kind === "BEFORE") past.started = last === "";
  else if (last) past.reached(last);
  const meets = offset(past.upTo) >= offset(room.first()) || (kind === "AFTER" && last === "");
  if (meets) for (const m of past.messages) room.add(m);
  if (meets) room.started ||= past.started;
  if (room.past === past || kind === "AROUND") room.past = meets ? null : past;
  if (kind === "AROUND") c.ui.show(room, past.goal);
}

// caughtUp marks the room as complete: from now on live messages follow without a gap.
function caughtUp(c, room, last) {
  if (last) room.reached(last);
  else if (!room.upTo) room.started = true;
  room.synced = true;
  const end = room.messages.findLast((m) => !Number.isNaN(m.offset));
  if (end) room.reached(end.id);
  if (room.readTo === Infinity) room.readTo = room.marker = end?.time ?? 0;
  for (const s of room.sending) utter(c, room, s);
  c.ui.changed("rooms");
}

// failed handles a refused CHATHISTORY: there is no history, or the log is a different one.
export function failed(c, code, target) {
  const request = c.requests.get(fold(target))?.shift();
  if (!request) return;
  const { kind, room, into } = request;
  if (kind === "FILL") return;
  if (into !== room) {
    if (kind === "AROUND") c.ui.wrong(room, "This message no longer exists.");
    into.loading = false;
  } else if (code === "INVALID_MSGREFTYPE" && kind === "AFTER") {
    room.forget();
    catchUp(c, room);
  } else {
    Object.assign(room, { loading: false, started: true });
    caughtUp(c, room, "");
  }
}

// take handles a line of a room, live or from the history, for the room or its past.
export function take(c, room, m, old, into = room) {
  if (m.command === "TAGMSG") {
    signal(c, room, m, old);
    return;
  }
  if (m.command === "REDACT") {
    room.redact(m.params[1]);
    c.ui.changed("messages", room);
    return;
  }
  const said = m.tags.get(ownId);
  if (said) room.sending = room.sending.filter((s) => s.id !== said);
  const message = messageOf(m);
  if (!message) return;
  if (room.typing.delete(fold(m.nick))) c.ui.changed("typing", room);
  if (!into.add(message)) return;
  if (!old) heard(c, room, message);
  c.ui.changed("messages", room);
}

// heard handles a live message: its offset shows how far the room is complete.
function heard(c, room, message) {
  if (!room.synced && Number.isNaN(room.liveFrom)) room.liveFrom = message.offset;
  if (room.synced && message.id && !Number.isNaN(message.offset)) room.reached(message.id);
  c.ui.heard(room, message);
}

// signal handles a TAGMSG: a reaction or a typing notification.
function signal(c, room, m, old) {
  const reaction = m.tags.get("+draft/react");
  const to = m.tags.get("+draft/reply");
  if (reaction && to) {
    room.react(to, [...reaction].slice(0, 16).join(""), m.nick, m.tags.get("msgid") ?? "");
    if (!old && room.synced && !Number.isNaN(offset(m.tags.get("msgid")))) room.reached(m.tags.get("msgid"));
  }
  const typing = m.tags.get("+typing");
  if (typing && !old && fold(m.nick) !== fold(c.nick)) room.types(m.nick, typing);
  c.ui.changed("messages", room);
}

// messageOf converts a line to a message; it returns undefined for lines that are not shown.
export function messageOf(m) {
  const id = m.tags.get("msgid") ?? "";
  const at = Date.parse(m.tags.get("time") ?? "");
  const message = { id, offset: offset(id), time: Number.isNaN(at) ? Date.now() : at, nick: m.nick, account: m.tags.get("account") ?? "" };
  const text = m.params[1] ?? "";
  if (m.command === "TOPIC") return { ...message, event: true, text: text ? `changed the topic to: ${text}` : "removed the topic" };
  if (m.command !== "PRIVMSG" && m.command !== "NOTICE") return undefined;
  const action = /^\x01ACTION ([^]*?)\x01?$/.exec(text);
  if (!action && text[0] === "\x01") return undefined;
  return { ...message, text: action ? action[1] : text, action: !!action, notice: m.command === "NOTICE", reply: m.tags.get("+draft/reply") ?? "" };
}

const attribute = (value) => line("", [], { "": value }).slice(2).trim();

// search searches for messages with words, in one room or in all.
export function search(c, words, room) {
  c.send("SEARCH", [`${room ? `in=${attribute(room.name)};` : ""}text=${attribute(words)};limit=50`]);
}

// searched handles the results of a search.
export function searched(c, batch) {
  const results = batch.items.map((m) => ({ ...messageOf(m), room: m.params[0] })).filter((r) => r.text !== undefined);
  for (const r of results) if (fold(r.room) === fold(c.nick)) r.room = r.nick;
  c.ui.found(results, "");
}
