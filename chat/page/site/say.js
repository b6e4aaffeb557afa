// The user's input: messages, and commands that start with a slash.

import { isRoom } from "./irc.js";
import { redact, say } from "./talk.js";

// commands is the list of commands. do is called with context = {client, room, open, showError,
// help, find}. needs means that an argument is required.
export const commands = [
  { name: "join", use: "#room [key]", about: "joins a room, or creates it", needs: true, anywhere: true, do: join },
  { name: "leave", use: "", about: "leaves this room", do: (context) => context.client.leave(context.room) },
  { name: "msg", use: "name [text]", about: "sends a direct message", needs: true, anywhere: true, do: talkTo },
  { name: "me", use: "text", about: "sends an action: /me waves", needs: true, do: (context, rest) => say(context.client, context.room, `\x01ACTION ${rest.replace(/\n/g, " ")}\x01`) },
  { name: "topic", use: "text", about: "sets the room's topic", needs: true, do: (context, rest) => context.client.send("TOPIC", [context.room.name, rest.replace(/\n/g, " ")]) },
  { name: "nick", use: "name", about: "changes your nick", needs: true, anywhere: true, do: (context, rest) => context.client.send("NICK", [rest]) },
  { name: "away", use: "[why]", about: "sets you away; again: back", anywhere: true, do: (context, rest) => context.client.setAway(rest || (context.client.away ? "" : "Away")) },
  { name: "search", use: "words", about: "searches the messages", anywhere: true, do: (context, rest) => context.find(rest) },
  { name: "invite", use: "name", about: "invites a user to this room", needs: true, do: (context, rest) => context.client.send("INVITE", [rest, context.room.name]) },
  { name: "kick", use: "name [why]", about: "removes a user from this room, for operators", needs: true, do: kick },
  { name: "undo", use: "", about: "deletes your last message here", do: undo },
  { name: "help", use: "", about: "shows this list", anywhere: true, do: (context) => context.help() },
  { name: "part", use: "", about: "", do: (context) => context.client.leave(context.room) },
];

function join(context, rest) {
  const [name, key] = rest.split(" ", 2);
  if (isRoom(name)) context.open(context.client.join(name, key));
  else context.showError(context.room, "The name of a room starts with #.");
}

function talkTo(context, rest) {
  const [, name, text] = /^(\S+)\s*([^]*)$/.exec(rest);
  const room = context.client.join(name);
  context.open(room);
  if (text) say(context.client, room, text);
}

function kick(context, rest) {
  const [, name, why] = /^(\S+)\s*([^]*)$/.exec(rest);
  context.client.send("KICK", why ? [context.room.name, name, why] : [context.room.name, name]);
}

function undo(context) {
  const mine = context.room.messages.findLast((m) => m.account && m.account === context.client.account && m.text && !m.event);
  if (mine) redact(context.client, context.room, mine.id);
  else context.showError(context.room, "There is no message here that you sent with your account.");
}

// run sends a message or runs a command. reply is the id of the message that it replies to, or "".
export function run(context, text, reply) {
  const found = /^\/(\w+)(?:\s+([^]*))?$/.exec(text);
  if (!found) {
    if (context.room && !context.room.wanted && !context.room.direct) context.showError(context.room, "You are not in this room: /join it first.");
    else if (context.room) say(context.client, context.room, text.replace(/^\/\//, "/"), reply);
    return;
  }
  const command = commands.find((c) => c.name === found[1].toLowerCase());
  const rest = (found[2] ?? "").trim();
  if (!command) context.showError(context.room, `Unknown command /${found[1]}: /help lists the commands. To start a message with a slash, write two.`);
  else if (!rest && command.needs) context.showError(context.room, `/${command.name} ${command.use}: ${command.about}`);
  else if (context.room || command.anywhere) command.do(context, rest);
}
