// The page: what is shown, and what its user does.

import { Client } from "./client.js";
import { Completion } from "./complete.js";
import { counts, drawPeople, drawRooms, sorted } from "./lists.js";
import { Messages } from "./messages.js";
import { fold, isRoom } from "./irc.js";
import { mention } from "./text.js";
import { notify, offer } from "./notify.js";
import { run } from "./say.js";

const $ = (id) => document.getElementById(id);
const messages = new Messages($("log"));
let shown = null; // the room
let drawing = false;

const client = new Client({
  changed: draw,
  state: (text) => ($("state").textContent = text),
  refused: (why) => {
    $("chat").hidden = true;
    $("door").hidden = false;
    $("refused").textContent = why;
    $("enter").disabled = false;
  },
  ready: entered,
  heard,
  wrong,
});

// draw draws all that may have changed, once for all changes of a turn.
function draw() {
  if (drawing) return;
  drawing = true;
  setTimeout(() => {
    drawing = false;
    paint();
  });
}

function paint() {
  if ($("chat").hidden) return;
  if (!shown || client.rooms.get(fold(shown.name)) !== shown) open(sorted(client.rooms)[0] ?? null);
  drawRooms($("roomlist"), client.rooms, shown, client.nick, open);
  $("network").textContent = client.network;
  $("me").textContent = client.nick;
  $("log").hidden = !shown;
  if (shown) paintRoom(shown);
  paintUnread();
  remember();
}

function paintRoom(room) {
  $("title").textContent = room.name;
  $("topic").textContent = room.topic;
  $("topic").title = room.topic;
  $("who").hidden = $("people").hidden = room.direct;
  $("who").textContent = `${room.people.size} here`;
  $("who").setAttribute("aria-label", `Who is here: ${room.people.size}`);
  $("leave").textContent = room.direct ? "Close" : "Leave";
  drawPeople($("peoplelist"), room, (nick) => open(client.join(nick)));
  messages.show(room, client.nick);
  $("down").hidden = messages.atEnd;
  read();
  if ($("log").scrollTop < 300) client.older(room);
}

function paintUnread() {
  const all = [...client.rooms.values()].map((room) => counts(room, client.nick));
  const rest = all.reduce((sum, c) => sum + c.all, 0);
  const mine = all.reduce((sum, c) => sum + c.mine, 0);
  $("elsewhere").textContent = rest > 0 ? " •" : "";
  $("menu").setAttribute("aria-label", rest > 0 ? `Rooms, ${rest} unread` : "Rooms");
  document.title = (mine > 0 ? `(${mine}) ` : rest > 0 ? "• " : "") + (shown ? `${shown.name} · ` : "") + client.network;
}

// read marks the shown room as read, as far as it is looked at.
function read() {
  if (!shown || document.hidden || !document.hasFocus() || !messages.atEnd) return;
  const last = shown.messages.findLast((m) => !m.local);
  if (last && shown.synced) client.markRead(shown, last.time);
}

function open(room) {
  panels(false, false);
  if (room === shown) return;
  if (shown) Object.assign(shown, { draft: $("say").value, marker: shown.readTo });
  shown = room;
  if (room) {
    room.marker = room.readTo;
    $("say").value = room.draft;
    $("say").setAttribute("aria-label", `Message to ${room.name}`);
    grow();
  }
  draw();
}

// heard is told of every message that comes live.
function heard(room, m) {
  if (m.event || fold(m.nick) === fold(client.nick)) return;
  const looking = room === shown && !document.hidden && document.hasFocus();
  if (!looking && (room.direct || mention(client.nick).test(m.text))) notify(room, m, open);
}

// wrong shows an error where it belongs; without a room, in the one that is shown.
function wrong(room, text) {
  const where = room ?? shown;
  where?.messages.push({ id: "", offset: NaN, time: where.messages.at(-1)?.time ?? Date.now(), nick: "", text, local: true, event: true });
  draw();
}

// What is kept in the browser: the name, and its rooms. Never a password.

const place = (name) => `weir.rooms.${fold(name)}`;

function remember() {
  if (!client.ready) return;
  const rooms = sorted(client.rooms).filter((r) => r.wanted || r.direct);
  localStorage.setItem("weir.name", client.name);
  localStorage.setItem(place(client.name), JSON.stringify(rooms.map((r) => r.name)));
}

function recall(name) {
  try {
    return JSON.parse(localStorage.getItem(place(name))) ?? [];
  } catch {
    return [];
  }
}

function enter(e) {
  e.preventDefault();
  const name = $("name").value.trim();
  const first = $("first").value.trim().replace(/[\s,]/g, "");
  const rooms = recall(name);
  if (first) rooms.push(isRoom(first) ? first : `#${first}`);
  $("refused").textContent = "";
  $("enter").disabled = true;
  client.rooms.clear();
  shown = null;
  client.connect(name, $("password").value, rooms);
  if (first) open(client.room(rooms.at(-1)));
}

function entered() {
  if (!$("door").hidden) {
    $("door").hidden = true;
    $("chat").hidden = false;
    $("password").value = "";
    $("say").focus();
  }
  draw();
}

function say(e) {
  e?.preventDefault();
  const text = $("say").value;
  if (!text.trim()) return;
  $("say").value = "";
  grow();
  messages.toEnd();
  run({ client, room: shown, open, wrong }, text);
}

// grow makes the field as high as what is written.
function grow() {
  const field = $("say");
  field.style.height = "auto";
  field.style.height = `${Math.min(field.scrollHeight + 2, innerHeight / 3)}px`;
}

const completion = new Completion($("say"), () => {
  const spoke = (shown?.messages ?? []).map((m) => m.nick).reverse();
  const people = shown?.direct ? [shown.name] : (shown?.sorted() ?? []).map((p) => p.nick);
  const here = new Set(people.map(fold));
  const names = [...new Set(spoke.filter((n) => here.has(fold(n))).concat(people))].filter((n) => n !== client.nick);
  return names.concat([...client.rooms.values()].map((r) => r.name).filter(isRoom));
});

function keyInField(e) {
  if (e.key === "Enter" && !e.shiftKey && !e.isComposing) say(e);
  else if (e.key === "Tab" && !e.altKey && !e.ctrlKey && completion.next(e.shiftKey)) e.preventDefault();
}

function key(e) {
  if ($("chat").hidden) return;
  if (e.key === "Escape") {
    panels(false, false);
    messages.toEnd();
    $("say").focus();
  } else if (e.altKey && !e.ctrlKey && (e.key === "ArrowUp" || e.key === "ArrowDown")) {
    e.preventDefault();
    step(e.key === "ArrowUp" ? -1 : 1, e.shiftKey);
  }
}

// step goes to another room; to one with something unread if only these are meant.
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

// panels opens or closes what a narrow window shows on top.
function panels(rooms, people) {
  document.body.classList.toggle("show-rooms", rooms);
  document.body.classList.toggle("show-people", people);
  $("menu").setAttribute("aria-expanded", rooms);
  $("who").setAttribute("aria-expanded", people);
}

$("door").addEventListener("submit", enter);
$("saying").addEventListener("submit", say);
$("say").addEventListener("keydown", keyInField);
$("say").addEventListener("input", grow);
document.addEventListener("keydown", key);
$("joining").addEventListener("submit", (e) => {
  e.preventDefault();
  const name = $("joinname").value.trim().replace(/[\s,]/g, "");
  $("joinname").value = "";
  if (name) open(client.join(name));
  $("say").focus();
});
$("leave").addEventListener("click", () => shown && client.leave(shown));
$("out").addEventListener("click", () => {
  client.close();
  location.reload();
});
$("menu").addEventListener("click", () => panels(!document.body.classList.contains("show-rooms"), false));
$("who").addEventListener("click", () => panels(false, !document.body.classList.contains("show-people")));
$("down").addEventListener("click", () => messages.toEnd());
$("log").addEventListener("scroll", () => {
  $("down").hidden = messages.atEnd;
  read();
  if (shown && $("log").scrollTop < 300) client.older(shown);
});
addEventListener("focus", read);
document.addEventListener("visibilitychange", read);
offer($("alerts"));
$("name").value = localStorage.getItem("weir.name") ?? "";
$("name").focus();
