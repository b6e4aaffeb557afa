// The page: it connects the parts and handles the user's actions.
//
// A room shows its newest messages, or an older part of its history: then room.past is that part.
// room.readTo is the time up to which the user has read it. room.dividerTime is readTo as it was
// when the room was opened: the divider "new" is drawn there and stays while the user reads.

import { About, help } from "./dialogs.js";
import { Actions } from "./actions.js";
import { Client } from "./client.js";
import { Field } from "./field.js";
import { Finder } from "./find.js";
import { Messages } from "./messages.js";
import { Uploads } from "./upload.js";
import { counts, drawPeople, drawRooms, sorted } from "./lists.js";
import { fold } from "./irc.js";
import { jump, requestNewer, requestOlder } from "./history.js";
import { hideForm, setUpForm, showRefusal, storeLogin } from "./door.js";
import { mention } from "./text.js";
import { notify, setUpAlerts } from "./notify.js";
import { react } from "./talk.js";

const $ = (id) => document.getElementById(id);
let shown = null; // the current room
let drawing = false; // a redraw is scheduled
let goal = ""; // id of a message to scroll to once it is drawn

const client = new Client({
  changed: draw,
  state: (text) => ($("state").textContent = text),
  refused: showRefusal,
  ready: loggedIn,
  liveMessage,
  showError,
  found: (results, why) => finder.showResults(results, why),
  lost: () => uploads.lost(),
  token: (token, why) => uploads.answer(token, why),
  show: (room, id) => {
    open(room);
    goal = id;
    draw();
  },
});
const app = { client, shown: () => shown, open, showError, help, find: (words) => find(words), field: $("say"), reply: (m) => field.replyTo(m) };
const messages = new Messages($("log"), {
  jump: (id) => jump(client, shown, id),
  react: (m, reaction) => react(client, shown, m, reaction),
});
const finder = new Finder(app);
const field = new Field({ ...app, sent: newest });
const uploads = new Uploads({ ...app, write: (text, room) => field.write(text, room) });
new Actions(app, $("log"));
new About(app);

// draw schedules one redraw for all changes of the current task.
function draw() {
  if (drawing) return;
  drawing = true;
  setTimeout(() => {
    drawing = false;
    paint();
  });
}

// paint draws the whole page. If the current room is closed, it shows the first one instead.
function paint() {
  if ($("chat").hidden) return;
  if (!shown || client.rooms.get(fold(shown.name)) !== shown) open(sorted(client.rooms)[0] ?? null);
  drawRooms($("roomlist"), client.rooms, shown, client.nick, open);
  $("network").textContent = client.network;
  $("me").textContent = client.nick;
  $("away").setAttribute("aria-pressed", !!client.away);
  $("log").hidden = !shown;
  $("people").hidden = $("who").hidden = !shown || shown.direct;
  if (shown) paintRoom(shown);
  else $("title").textContent = $("topic").textContent = "";
  uploads.updateButton();
  paintUnread();
  storeLogin(client);
}

function paintRoom(room) {
  $("title").textContent = room.name;
  $("topic").textContent = room.topic;
  $("topic").title = room.topic;
  $("count").textContent = room.people.size || "";
  $("who").setAttribute("aria-label", `Who is here: ${room.people.size}`);
  $("peopletitle").textContent = room.joined ? `${room.people.size} here` : "Not here";
  drawPeople($("peoplelist"), room, (nick) => open(client.join(nick)));
  messages.show(room.past ?? room, client.nick, room);
  if (goal && (messages.highlight(goal) || !(room.past ?? room).loading)) goal = "";
  paintTyping(room);
  scrolled();
}

let typingTimer = 0; // redraws while users type, because their notifications expire

function paintTyping(room) {
  const who = room.typists();
  const names = who.slice(0, 3).join(", ");
  $("typing").textContent = who.length === 0 ? "" : who.length === 1 ? `${names} is typing …` : `${names}${who.length > 3 ? " and others" : ""} are typing …`;
  clearTimeout(typingTimer);
  if (who.length > 0) typingTimer = setTimeout(draw, 1000);
}

// paintUnread shows the number of unread messages, and in the title of the page how many of them
// are mentions or direct messages.
function paintUnread() {
  const all = [...client.rooms.values()].map((room) => counts(room, client.nick));
  const unread = all.reduce((sum, c) => sum + c.all, 0);
  const mine = all.reduce((sum, c) => sum + c.mine, 0);
  $("elsewhere").hidden = unread === 0;
  $("menu").setAttribute("aria-label", unread > 0 ? `Rooms, ${unread} unread` : "Rooms");
  document.title = (mine > 0 ? `(${mine}) ` : unread > 0 ? "• " : "") + (shown ? `${shown.name} · ` : "") + client.network;
}

// scrolled requests more history near an end, and marks visible messages as read.
function scrolled() {
  const log = $("log");
  $("down").hidden = messages.atEnd && !shown?.past;
  read();
  if (!shown || goal) return;
  if (log.scrollTop < 300) requestOlder(client, shown);
  if (shown.past && log.scrollHeight - log.scrollTop - log.clientHeight < 300) requestNewer(client, shown);
}

// read marks the current room as read if the user sees its end.
function read() {
  if (!shown || shown.past || document.hidden || !document.hasFocus() || !messages.atEnd) return;
  const last = shown.messages.findLast((m) => !m.local);
  if (last && shown.synced) client.markRead(shown, last.time);
}

// newest shows the newest messages and scrolls to the end.
function newest() {
  if (shown?.past) {
    shown.past = null;
    paint();
  }
  messages.toEnd();
}

// open shows another room, or none if room is null. The divider of the room that is left moves to
// what the user has read, and the older part of its history is closed.
function open(room) {
  panels(false, false);
  if (room === shown) return;
  if (shown) Object.assign(shown, { dividerTime: shown.readTo, past: null });
  field.switchRoom(shown, room);
  shown = room;
  if (room) room.dividerTime = room.readTo;
  paint();
}

// liveMessage notifies the user of a message that has just arrived: a direct one or a mention,
// unless the user sees it.
function liveMessage(room, m) {
  if (m.event || fold(m.nick) === fold(client.nick)) return;
  const looking = room === shown && !document.hidden && document.hasFocus();
  if (!looking && (room.direct || mention(client.nick).test(m.text))) notify(room, m, open);
}

// showError shows an error as a message in a room, or in the current one if room is null. The
// message is not in the server's log, so its offset there is NaN.
function showError(room, text) {
  const where = room ?? shown;
  where?.messages.push({ id: "", offset: NaN, time: where.messages.at(-1)?.time ?? Date.now(), nick: "", text, local: true, event: true });
  draw();
}

// find opens the search, and searches for words if there are any.
function find(words) {
  finder.show();
  $("words").value = words;
  if (words) finder.search(words);
}

// loggedIn handles a login: the first one from the form, or one after a reconnect, when the form is
// hidden already and the focus stays where it is.
function loggedIn() {
  if (hideForm()) field.focus();
  draw();
}

function keyPressed(e) {
  if ($("chat").hidden || document.querySelector("dialog[open]")) return;
  if (e.key === "Escape") escape();
  else if (e.altKey && !e.ctrlKey && (e.key === "ArrowUp" || e.key === "ArrowDown")) {
    e.preventDefault();
    step(e.key === "ArrowUp" ? -1 : 1, e.shiftKey);
  } else if (e.altKey && !e.ctrlKey && e.code === "KeyS") {
    e.preventDefault();
    find("");
  }
}

// escape closes the search, or cancels a reply in progress, or else shows the newest messages.
function escape() {
  panels(false, false);
  if (finder.open) finder.close();
  else if (!field.cancelReply()) newest();
  field.focus();
}

// step shows the next or previous room, optionally only unread ones.
function step(by, unreadOnly) {
  const all = sorted(client.rooms);
  const from = all.indexOf(shown);
  for (let i = 1; i <= all.length; i++) {
    const room = all[(from + by * i + all.length * i) % all.length];
    if (unreadOnly && counts(room, client.nick).all === 0) continue;
    open(room);
    return;
  }
}

// panels opens or closes the side panels of a narrow window.
function panels(rooms, people) {
  document.body.classList.toggle("show-rooms", rooms);
  document.body.classList.toggle("show-people", people);
  $("menu").setAttribute("aria-expanded", rooms);
  $("who").setAttribute("aria-expanded", people);
}

document.addEventListener("keydown", keyPressed);
$("joining").addEventListener("submit", (e) => {
  e.preventDefault();
  const name = $("joinname").value.trim().replace(/[\s,]/g, "");
  $("joinname").value = "";
  if (name) open(client.join(name));
  field.focus();
});
$("away").addEventListener("click", () => client.setAway(client.away ? "" : "Away"));
$("out").addEventListener("click", () => {
  client.close();
  location.reload();
});
$("menu").addEventListener("click", () => panels(!document.body.classList.contains("show-rooms"), false));
$("who").addEventListener("click", () => panels(false, !document.body.classList.contains("show-people")));
$("down").addEventListener("click", newest);
$("log").addEventListener("scroll", scrolled);
document.querySelector("main").addEventListener("pointerdown", (e) => e.target.closest("#menu, #who") ?? panels(false, false));
addEventListener("focus", read);
document.addEventListener("visibilitychange", read);
setUpAlerts($("alerts"));
setUpForm((login, rooms, firstRoom) => {
  client.rooms.clear();
  shown = null;
  client.connect(login, rooms);
  if (firstRoom) open(client.room(firstRoom));
});
