// The handlers of the server's commands. In all functions c is the Client, m a parsed line.

import { fold, isRoom } from "./irc.js";
import { catchUp, handleLine, historyRefused } from "./history.js";
import { answerChallenge, loggedIn, negotiate, notRegistered, registered, startLogin } from "./login.js";

const isOwn = (c, m) => fold(m.nick) === fold(c.nick);

// forEachRoomOf calls f for each room that a user is in.
function forEachRoomOf(c, nick, f) {
  for (const room of c.rooms.values()) if (room.people.has(fold(nick))) f(room, room.people.get(fold(nick)));
  c.ui.changed("people");
}

function capabilities(c, m) {
  const list = (m.params.at(-1) ?? "").split(" ").filter(Boolean);
  switch (m.params[1]) {
    case "LS":
      for (const word of list) c.offered.set(word.split("=")[0], word);
      if (m.params[2] !== "*") negotiate(c);
      break;
    case "ACK":
      for (const name of list) c.caps.add(name);
      if (!c.ready) startLogin(c);
      break;
    case "NAK":
      c.refuse("The server does not support the capabilities that this page needs.");
  }
}

// loginRefused handles a wrong name or password.
const loginRefused = (c, m) => {
  const [many] = m.params.at(-1).match(/too many attempts.*/) ?? [];
  c.refuse(many ? `Logging in is blocked for now: ${many}.` : "The name or the password is wrong.");
};

function nickTaken(c) {
  if (c.ready) c.ui.showError(null, "This name is in use.");
  else if (!c.entered || c.nick.length > 28) c.refuse("This name is in use. If it is yours, log in with your account; otherwise choose another name.");
  else c.send("NICK", [(c.nick += "_")]); // the old connection is not closed yet
}

function joined(c, m) {
  const room = isOwn(c, m) ? c.room(m.params[0]) : c.rooms.get(fold(m.params[0]));
  if (!room) return;
  room.people.set(fold(m.nick), { nick: m.nick, rank: "" });
  if (isOwn(c, m)) {
    Object.assign(room, { joined: true, wanted: true, name: m.params[0] });
    catchUp(c, room);
    c.ui.changed("rooms");
  }
  c.ui.changed("people", room);
}

// removeMember removes a user from a room.
function removeMember(c, name, nick, why) {
  const room = c.rooms.get(fold(name));
  if (!room) return;
  room.people.delete(fold(nick));
  if (fold(nick) === fold(c.nick)) {
    Object.assign(room, { joined: false, wanted: false, synced: false });
    c.ui.showError(room, why);
  }
  c.ui.changed("people", room);
}

function renamed(c, m) {
  const nick = m.params[0];
  if (isOwn(c, m)) {
    c.nick = nick;
    if (c.ready && !c.account) c.name = nick;
  }
  forEachRoomOf(c, m.nick, (room, person) => {
    room.people.delete(fold(m.nick));
    room.people.set(fold(nick), { ...person, nick });
  });
}

function handleMessage(c, m) {
  const room = c.roomOf(m);
  if (room) handleLine(c, room, m, false);
  else if (m.command === "NOTICE" && !isRoom(m.params[0])) c.ui.showError(null, m.params[1]);
}

function topic(c, name, text) {
  const room = c.rooms.get(fold(name));
  if (room) room.topic = text;
  c.ui.changed("rooms");
}

function readMarker(c, m) {
  const room = c.rooms.get(fold(m.params[0]));
  const at = Date.parse((m.params[1] ?? "").replace("timestamp=", ""));
  if (!room) return;
  if (at >= room.markerSent) room.markerSent = 0;
  if (!Number.isNaN(at) && (at > room.readTo || !room.readMarkerKnown)) room.readTo = at;
  else if (!room.readMarkerKnown) room.readTo = 0; // never read
  if (!room.readMarkerKnown) room.dividerTime = room.readTo;
  room.readMarkerKnown = true;
  c.ui.changed("rooms");
}

// failure handles a refused command.
function failure(c, m) {
  const text = m.params.at(-1);
  const label = m.tags.get("label");
  for (const room of c.rooms.values()) {
    const s = label && room.sending.find((s) => s.id === label);
    if (!s) continue;
    room.sending = room.sending.filter((other) => other !== s);
    c.ui.showError(room, `“${s.text}” was not sent: ${text}`);
    return;
  }
  const room = c.rooms.get(fold(m.params[1] ?? ""));
  if (room && !room.joined && /^(403|405|471|473|474|475)$/.test(m.command)) room.wanted = false;
  c.ui.showError(room, text);
}

function handleFail(c, m) {
  const [command, code] = m.params;
  if (command === "CHATHISTORY" && m.params.length > 4) historyRefused(c, code, m.params[3]);
  else if (command === "REGISTER") notRegistered(c, code, m.params.at(-1));
  else if (command === "FILEHOST") c.ui.token("", m.params.at(-1));
  else if (command === "SEARCH") c.ui.found(null, m.params.at(-1));
  else if (code === "ACCOUNT_REQUIRED" && !c.ready) c.refuse("This chat is only for users with an account.");
  else if (command !== "MARKREAD" && command !== "CHATHISTORY") failure(c, m);
}

// addConversation handles a line of CHATHISTORY TARGETS: a direct conversation of the user.
function addConversation(c, m) {
  if (m.params[0] !== "TARGETS" || isRoom(m.params[1]) || c.rooms.has(fold(m.params[1]))) return;
  c.resume(c.room(m.params[1]));
}

function supports(c, m) {
  for (const word of m.params) {
    const [name, value] = word.split("=", 2);
    c.supported.set(name, value ?? "");
  }
  c.network = c.supported.get("NETWORK") || c.network;
}

function away(c, m) {
  forEachRoomOf(c, m.nick, (_, person) => (person.away = !!m.params[0]));
}

function setOwnAway(c, away) {
  c.away = away;
  c.ui.changed("rooms");
}

// mode requests NAMES again, because a mode may have changed ranks.
function mode(c, m) {
  const room = c.rooms.get(fold(m.params[0]));
  if (room?.joined && /[qaohv]/.test(m.params[1] ?? "")) c.send("NAMES", [room.name]);
}

export const handlers = {
  CAP: capabilities,
  AUTHENTICATE: (c, m) => answerChallenge(c, m.params[0]),
  REGISTER: (c, m) => (m.params[0] === "SUCCESS" ? registered(c) : notRegistered(c, m.params[0], m.params.at(-1))),
  900: (c, m) => (c.account = m.params[2]),
  903: loggedIn,
  902: loginRefused,
  904: loginRefused,
  905: loginRefused,
  464: loginRefused,
  432: (c) => (c.ready ? c.ui.showError(null, "This is not a valid name.") : c.refuse("This is not a valid name: letters, digits, - and _, a letter first.")),
  433: nickTaken,
  465: (c, m) => c.refuse(m.params.at(-1)),
  "001": (c, m) => (c.nick = m.params[0]),
  "005": supports,
  376: (c) => c.welcomed(),
  422: (c) => c.welcomed(),
  332: (c, m) => topic(c, m.params[1], m.params[2]),
  331: (c, m) => topic(c, m.params[1], ""),
  353: (c, m) => c.rooms.get(fold(m.params[2]))?.names(m.params[3]),
  366: (c) => c.ui.changed("people"),
  PING: (c, m) => c.send("PONG", [m.params[0]]),
  ERROR: (c, m) => (c.ready ? c.ui.state(m.params[0]) : c.entered || c.refuse(m.params[0])),
  JOIN: joined,
  PART: (c, m) => removeMember(c, m.params[0], m.nick, "You have left."),
  KICK: (c, m) => removeMember(c, m.params[0], m.params[1], `${m.nick} has removed you from the room: ${m.params[2] ?? ""}`),
  QUIT: (c, m) => forEachRoomOf(c, m.nick, (room) => room.people.delete(fold(m.nick))),
  NICK: renamed,
  AWAY: away,
  MODE: mode,
  305: (c) => setOwnAway(c, ""),
  306: (c) => setOwnAway(c, c.away || "Away"),
  PRIVMSG: handleMessage,
  NOTICE: handleMessage,
  TAGMSG: handleMessage,
  REDACT: handleMessage,
  FILEHOST: (c, m) => m.params[0] === "TOKEN" && c.ui.token(m.params[1], ""),
  TOPIC: (c, m) => {
    topic(c, m.params[0], m.params[1] ?? "");
    handleMessage(c, m);
  },
  INVITE: (c, m) => !isOwn(c, m) && c.ui.showError(null, `${m.nick} invites you to ${m.params[1]}: /join ${m.params[1]}`),
  341: (c, m) => c.ui.showError(c.rooms.get(fold(m.params[2])), `${m.params[1]} was invited.`),
  MARKREAD: readMarker,
  CHATHISTORY: addConversation,
  FAIL: handleFail,
  failure,
};
