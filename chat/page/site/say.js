// The user's input: messages, and commands that start with a slash.

import { isRoom } from "./irc.js";
import { redact, say } from "./talk.js";

// commands is the list of commands. do is called with p = {client, room, open, wrong, help, find}.
// needs means that an argument is required.
export const commands = [
  { name: "join", use: "#room [key]", about: "joins a room, or creates it", needs: true, anywhere: true, do: join },
  { name: "leave", use: "", about: "leaves this room", do: (p) => p.client.leave(p.room) },
  { name: "msg", use: "name [text]", about: "sends a direct message", needs: true, anywhere: true, do: talkTo },
  { name: "me", use: "text", about: "sends an action: /me waves", needs: true, do: (p, rest) => say(p.client, p.room, `\x01ACTION ${rest.replace(/\n/g, " ")}\x01`) },
  { name: "topic", use: "text", about: "sets the room's topic", needs: true, do: (p, rest) => p.client.send("TOPIC", [p.room.name, rest.replace(/\n/g, " ")]) },
  { name: "nick", use: "name", about: "changes your nick", needs: true, anywhere: true, do: (p, rest) => p.client.send("NICK", [rest]) },
  { name: "away", use: "[why]", about: "sets you away; again: back", anywhere: true, do: (p, rest) => p.client.setAway(rest || (p.client.away ? "" : "Away")) },
  { name: "search", use: "words", about: "searches the messages", anywhere: true, do: (p, rest) => p.find(rest) },
  { name: "invite", use: "name", about: "invites a user to this room", needs: true, do: (p, rest) => p.client.send("INVITE", [rest, p.room.name]) },
  { name: "kick", use: "name [why]", about: "removes a user from this room, for operators", needs: true, do: kick },
  { name: "undo", use: "", about: "deletes your last message here", do: undo },
  { name: "help", use: "", about: "shows this list", anywhere: true, do: (p) => p.help() },
  { name: "part", use: "", about: "", do: (p) => p.client.leave(p.room) },
];

function join(p, rest) {
  const [name, key] = rest.split(" ", 2);
  if (isRoom(name)) p.open(p.client.join(name, key));
  else p.wrong(p.room, "The name of a room starts with #.");
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
  else p.wrong(p.room, "There is no message here that you sent with your account.");
}

// run sends a message or runs a command. reply is the id of the message that it replies to, or "".
export function run(p, text, reply) {
  const found = /^\/(\w+)(?:\s+([^]*))?$/.exec(text);
  if (!found) {
    if (p.room && !p.room.wanted && !p.room.direct) p.wrong(p.room, "You are not in this room: /join it first.");
    else if (p.room) say(p.client, p.room, text.replace(/^\/\//, "/"), reply);
    return;
  }
  const command = commands.find((c) => c.name === found[1].toLowerCase());
  const rest = (found[2] ?? "").trim();
  if (!command) p.wrong(p.room, `Unknown command /${found[1]}: /help lists the commands. To start a message with a slash, write two.`);
  else if (!rest && command.needs) p.wrong(p.room, `/${command.name} ${command.use}: ${command.about}`);
  else if (p.room || command.anywhere) command.do(p, rest);
}
