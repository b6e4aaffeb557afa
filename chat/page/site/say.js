// What the user writes: messages, and the few commands that begin with a slash.

import { isRoom } from "./irc.js";

const help = "/join #room [key], /leave, /msg name text, /me does something, /topic text, /nick name, /away [why]; // begins a message with a slash";

const commands = {
  join: (p, rest) => p.open(p.client.join(...rest.split(" ").slice(0, 2))),
  leave: (p) => p.room && p.client.leave(p.room),
  msg: (p, rest) => {
    const [, name, text] = /^(\S+)\s*([^]*)$/.exec(rest);
    const room = p.client.join(name);
    p.open(room);
    if (text) p.client.say(room, text);
  },
  me: (p, rest) => p.client.say(p.room, `\x01ACTION ${rest.replace(/\n/g, " ")}\x01`),
  topic: (p, rest) => p.client.send("TOPIC", [p.room.name, rest]),
  nick: (p, rest) => p.client.send("NICK", [rest]),
  away: (p, rest) => p.client.send("AWAY", rest ? [rest] : []),
  help: (p) => p.wrong(p.room, help),
};
commands.part = commands.leave;

const optional = new Set(["leave", "part", "away", "help"]);

// run does what was written. P is {client, room, open, wrong}.
export function run(p, text) {
  const found = /^\/(\w+)(?:\s+([^]*))?$/.exec(text);
  if (!found) {
    if (p.room && !p.room.wanted && !p.room.direct) p.wrong(p.room, "You are not in this room: /join it first.");
    else if (p.room) p.client.say(p.room, text.replace(/^\/\//, "/"));
    return;
  }
  const name = found[1].toLowerCase();
  const rest = (found[2] ?? "").trim();
  if (!Object.hasOwn(commands, name)) p.wrong(p.room, `There is no /${name}. ${help}`);
  else if (!rest && !optional.has(name)) p.wrong(p.room, help);
  else if (name === "join" && !isRoom(rest)) p.wrong(p.room, "A room's name begins with #.");
  else if (p.room || name === "join" || name === "msg") commands[name](p, rest);
}
