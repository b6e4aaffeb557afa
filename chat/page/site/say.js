// What the user writes: messages, and the commands that begin with a slash.

import { isRoom } from "./irc.js";
import { redact, say } from "./talk.js";

// commands are what there is: p = {client, room, open, wrong, help, find}. Needs says that
// something has to follow.
export const commands = [
  { name: "join", use: "#room [key]", about: "goes to a room, new or not", needs: true, anywhere: true, do: join },
  { name: "leave", use: "", about: "leaves this room", do: (p) => p.client.leave(p.room) },
  { name: "msg", use: "name [text]", about: "talks to one person", needs: true, anywhere: true, do: talkTo },
  { name: "me", use: "text", about: "says what you do: /me waves", needs: true, do: (p, rest) => say(p.client, p.room, `\x01ACTION ${rest.replace(/\n/g, " ")}\x01`) },
  { name: "topic", use: "text", about: "says what this room is about", needs: true, do: (p, rest) => p.client.send("TOPIC", [p.room.name, rest.replace(/\n/g, " ")]) },
  { name: "nick", use: "name", about: "gives you another name", needs: true, anywhere: true, do: (p, rest) => p.client.send("NICK", [rest]) },
  { name: "away", use: "[why]", about: "says that you are not here; again: that you are", anywhere: true, do: (p, rest) => p.client.setAway(rest || (p.client.away ? "" : "Away")) },
  { name: "search", use: "words", about: "looks for what was said", anywhere: true, do: (p, rest) => p.find(rest) },
  { name: "invite", use: "name", about: "asks somebody into this room", needs: true, do: (p, rest) => p.client.send("INVITE", [rest, p.room.name]) },
  { name: "kick", use: "name [why]", about: "takes somebody out of this room, for operators", needs: true, do: kick },
  { name: "undo", use: "", about: "removes the last thing you said here", do: undo },
  { name: "help", use: "", about: "this list", anywhere: true, do: (p) => p.help() },
  { name: "part", use: "", about: "", do: (p) => p.client.leave(p.room) },
];

function join(p, rest) {
  const [name, key] = rest.split(" ", 2);
  if (isRoom(name)) p.open(p.client.join(name, key));
  else p.wrong(p.room, "A room's name begins with #.");
}

function talkTo(p, rest) {
  const [, name, text] = /^(\S+)\s*([^]*)$/.exec(rest);
  const room = p.client.join(name);
  p.open(room);
  if (text) say(p.client, room, text);
}

function kick(p, rest) {
  const [, name, why] = /^(\S+)\s*([^]*)$/.exec(rest);
  p.client.send("KICK", why ? [p.room.name, name, why] : [p.room.name, name]);
}

function undo(p) {
  const mine = p.room.messages.findLast((m) => m.account && m.account === p.client.account && m.text && !m.event);
  if (mine) redact(p.client, p.room, mine.id);
  else p.wrong(p.room, "There is nothing here that you said with your account.");
}

// run does what was written, as an answer to a message if there is one.
export function run(p, text, reply) {
  const found = /^\/(\w+)(?:\s+([^]*))?$/.exec(text);
  if (!found) {
    if (p.room && !p.room.wanted && !p.room.direct) p.wrong(p.room, "You are not in this room: /join it first.");
    else if (p.room) say(p.client, p.room, text.replace(/^\/\//, "/"), reply);
    return;
  }
  const command = commands.find((c) => c.name === found[1].toLowerCase());
  const rest = (found[2] ?? "").trim();
  if (!command) p.wrong(p.room, `There is no /${found[1]}: /help lists what there is, and // begins a message with a slash.`);
  else if (!rest && command.needs) p.wrong(p.room, `/${command.name} ${command.use}: ${command.about}`);
  else if (p.room || command.anywhere) command.do(p, rest);
}
