// Messages: live, from the history, and from a search; each is stored once and in order. In all
// functions c is the Client, m a parsed line.
//
// A room holds its newest messages without a gap. If the user opens an old search result, room.past
// holds a separate older part of the history. It is merged with the room when scrolling has loaded
// everything between them.

import { fold, line, offset } from "./irc.js";
import { ownId, transmit } from "./talk.js";
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
  if (room.completeTo) ask(c, "AFTER", room, `msgid=${room.completeTo}`, 2 * page);
  else ask(c, "LATEST", room, "*", page);
}

// requestOlder requests the messages before the first one shown.
export function requestOlder(c, room) {
  const view = room.past ?? room;
  if (!c.ready || view.startReached || view.loading || !room.synced || !view.first()) return;
  view.loading = true;
  ask(c, "BEFORE", room, `msgid=${view.first()}`, page, view);
}

// requestNewer requests the messages after the past that is shown.
export function requestNewer(c, room) {
  const { past } = room;
  if (!c.ready || !past || past.loading || !room.synced) return;
  past.loading = true;
  ask(c, "AFTER", room, `msgid=${past.completeTo}`, page, past);
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

// addHistoryPage handles a page of history.
export function addHistoryPage(c, batch) {
  const request = c.requests.get(fold(batch.params[0] ?? ""))?.shift();
  if (!request) return;
  const { kind, room, into } = request;
  let last = "";
  for (const m of batch.items) {
    if (!Number.isNaN(offset(m.tags.get("msgid")))) last = m.tags.get("msgid");
    if (kind !== "FILL") into.recordReceived(last);
    if (!batch.cut || m.tags.get("msgid") !== batch.cut) handleLine(c, room, m, true, into);
  }
  if (batch.cut && kind !== "FILL") fill(c, room, into, batch.cut);
  if (into !== room) pastReceived(c, room, into, kind, last);
  else if (kind === "BEFORE") Object.assign(room, { loading: false, startReached: last === "" });
  else if (kind === "AFTER" && last && !(offset(last) >= room.firstLiveOffset)) continueCatchUp(c, room, last);
  else if (kind !== "FILL") caughtUp(c, room, last);
  c.ui.changed("messages", room);
}

// fill requests the rest of a multiline message that was cut at the end of a page.
function fill(c, room, into, id) {
  ask(c, "AROUND", room, `msgid=${id}`, page, into);
  c.requests.get(fold(room.name)).at(-1).kind = "FILL";
}

// continueCatchUp requests the next page after an incomplete one.
function continueCatchUp(c, room, last) {
  room.recordComplete(last);
  catchUp(c, room);
}

// pastReceived handles a page of a room's past. The past is shown when it has arrived, and merged
// when it reaches the first message of the room.
function pastReceived(c, room, past, kind, last) {
  if (kind === "FILL") return;
  past.loading = false;
  if (kind === "BEFORE") past.startReached = last === "";
  else if (last) past.recordComplete(last);
  const meets = offset(past.completeTo) >= offset(room.first()) || (kind === "AFTER" && last === "");
  if (meets) for (const m of past.messages) room.add(m);
  if (meets) room.startReached ||= past.startReached;
  if (room.past === past || kind === "AROUND") room.past = meets ? null : past;
  if (kind === "AROUND") c.ui.show(room, past.goal);
}

// caughtUp marks the room as complete: from now on live messages follow without a gap.
function caughtUp(c, room, last) {
  if (last) room.recordComplete(last);
  else if (!room.completeTo) room.startReached = true;
  room.synced = true;
  const end = room.messages.findLast((m) => !Number.isNaN(m.offset));
  if (end) room.recordComplete(end.id);
  if (room.readTo === Infinity) room.readTo = room.dividerTime = end?.time ?? 0;
  for (const s of room.sending) transmit(c, room, s);
  if (room.markerSent) c.sendMarker(room, room.markerSent);
  c.ui.changed("rooms");
}

// historyRefused handles a refused CHATHISTORY: there is no history, or the log is a different one.
export function historyRefused(c, code, target) {
  const request = c.requests.get(fold(target))?.shift();
  if (!request) return;
  const { kind, room, into } = request;
  if (kind === "FILL") return;
  if (into !== room) {
    if (kind === "AROUND") c.ui.showError(room, "This message no longer exists.");
    into.loading = false;
  } else if (code === "INVALID_MSGREFTYPE" && kind === "AFTER") {
    room.clear();
    catchUp(c, room);
  } else {
    Object.assign(room, { loading: false, startReached: true });
    caughtUp(c, room, "");
  }
}

// handleLine handles a line of a room, live or from the history, for the room or its past.
export function handleLine(c, room, m, old, into = room) {
  if (m.command === "TAGMSG") {
    handleTagmsg(c, room, m, old);
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
  if (!old) liveMessage(c, room, message);
  c.ui.changed("messages", room);
}

// liveMessage handles a live message: its offset shows how far the room is complete.
function liveMessage(c, room, message) {
  if (!room.synced && Number.isNaN(room.firstLiveOffset)) room.firstLiveOffset = message.offset;
  if (room.synced && message.id && !Number.isNaN(message.offset)) room.recordComplete(message.id);
  c.ui.liveMessage(room, message);
}

// handleTagmsg handles a TAGMSG: a reaction or a typing notification.
function handleTagmsg(c, room, m, old) {
  const reaction = m.tags.get("+draft/react");
  const to = m.tags.get("+draft/reply");
  if (reaction && to) {
    room.react(to, [...reaction].slice(0, 16).join(""), m.nick, m.tags.get("msgid") ?? "");
    if (!old && room.synced && !Number.isNaN(offset(m.tags.get("msgid")))) room.recordComplete(m.tags.get("msgid"));
  }
  const typing = m.tags.get("+typing");
  if (typing && !old && fold(m.nick) !== fold(c.nick)) room.setTyping(m.nick, typing);
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

// searchReceived handles the results of a search.
export function searchReceived(c, batch) {
  const results = batch.items.map((m) => ({ ...messageOf(m), room: m.params[0] })).filter((r) => r.text !== undefined);
  for (const r of results) if (fold(r.room) === fold(c.nick)) r.room = r.nick;
  c.ui.found(results, "");
}
