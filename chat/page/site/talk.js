// Sending of messages, reactions, redactions and typing notifications. Messages are kept until they
// are acknowledged, across reconnects. In all functions c is the Client.

import { cut } from "./irc.js";

// ownId is the tag by which the client finds its own messages in the history.
export const ownId = "+weir.page/id";

const textBytes = 380; // bytes of text per line
const mostLines = 30; // lines per message
const mostBytes = 12000;
const typingAgain = 3000; // milliseconds between typing notifications

const newId = () => crypto.getRandomValues(new Uint32Array(3)).join(".");

// say sends a message to a room. reply is the id of the message that it replies to, or "".
export function say(c, room, text, reply = "") {
  for (const parts of messages(text)) {
    const s = { id: newId(), parts, text: joined(parts), reply };
    room.sending.push(s);
    if (c.ready && room.synced) transmit(c, room, s);
  }
  room.typingSentAt = 0;
  c.ui.changed("messages", room);
}

const joined = (parts) => parts.map((p, i) => (i > 0 && !p.concat ? "\n" : "") + p.text).join("");

// messages splits a text into messages, each a list of lines.
function messages(text) {
  const all = [[]];
  let size = 0;
  for (const part of cut(text, textBytes)) {
    const n = new TextEncoder().encode(part.text).length + 1;
    if (size + n > mostBytes || all.at(-1).length === mostLines) {
      all.push([]);
      size = 0;
    }
    size += n;
    all.at(-1).push(all.at(-1).length > 0 ? part : { ...part, concat: false });
  }
  return all.filter((parts) => parts.some((p) => p.text !== ""));
}

// transmit sends a message that is in room.sending, with its id as label.
export function transmit(c, room, s) {
  const tags = { label: s.id, [ownId]: s.id };
  if (s.reply) tags["+draft/reply"] = s.reply;
  if (s.parts.length > 1 && c.caps.has("draft/multiline")) {
    c.send("BATCH", ["+m", "draft/multiline", room.name], tags);
    for (const p of s.parts) c.send("PRIVMSG", [room.name, p.text], p.concat ? { batch: "m", "draft/multiline-concat": "" } : { batch: "m" });
    c.send("BATCH", ["-m"]);
    return;
  }
  s.parts.forEach((p, i) => p.text && c.send("PRIVMSG", [room.name, p.text], i === s.parts.length - 1 ? tags : {}));
}

// react sends a reaction to a message, or redacts it if the user has already made it.
export function react(c, room, message, reaction) {
  const mine = room.reactionOf(message.id, reaction, c.nick);
  if (mine && c.account) redact(c, room, mine);
  else if (!mine) c.send("TAGMSG", [room.name], { "+draft/react": reaction, "+draft/reply": message.id });
}

// redact deletes a message.
export function redact(c, room, id) {
  c.send("REDACT", [room.name, id]);
}

// typing sends a typing notification, at most one every typingAgain milliseconds, or its end.
export function typing(c, room, active) {
  if (!c.ready || !c.caps.has("message-tags") || !(room.joined || room.direct)) return;
  const now = Date.now();
  if (active ? now - room.typingSentAt < typingAgain : room.typingSentAt === 0) return;
  room.typingSentAt = active ? now : 0;
  c.send("TAGMSG", [room.name], { "+typing": active ? "active" : "done" });
}
