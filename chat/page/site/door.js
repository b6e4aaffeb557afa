// The login form.

import { isRoom } from "./irc.js";
import { usable } from "./scram.js";

const $ = (id) => document.getElementById(id);
const notes = {
  account: { password: "Password", complete: "current-password", enter: "Come in" },
  invite: { password: "Choose a password: 8 characters or more", complete: "new-password", enter: "Make my account and come in" },
  guest: { password: "", complete: "off", enter: "Come in as a guest" },
};

const roomsKey = (name) => `weir.rooms.${name.toLowerCase()}`;

// load and store read and write the browser's local storage, which may be disabled.
function load(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

function store(name, value) {
  try {
    localStorage.setItem(name, value);
  } catch {
    // not stored: the form is empty next time
  }
}

// storeLogin stores the name, the kind of login and the rooms in the browser, for the next visit.
// It never stores a password.
export function storeLogin(client) {
  if (!client.ready) return;
  const rooms = [...client.rooms.values()].filter((r) => r.wanted || r.direct).map((r) => r.name);
  store("weir.name", client.name);
  store("weir.kind", client.account ? "account" : "guest");
  store(roomsKey(client.name), JSON.stringify(rooms));
}

// storedRooms returns the rooms that storeLogin stored for a name.
function storedRooms(name) {
  try {
    return JSON.parse(load(roomsKey(name))) ?? [];
  } catch {
    return [];
  }
}

// kind returns the selected kind of login: "account", "invite" or "guest".
const kind = () => document.querySelector("#kinds input:checked").value;

// choose selects a kind of login.
function choose(which) {
  document.querySelector(`#kinds input[value="${which}"]`).checked = true;
  draw();
}

// draw shows the fields that the selected kind of login needs.
function draw() {
  const chosen = kind();
  const { password, complete, enter } = notes[chosen];
  $("invitefield").hidden = $("invitenote").hidden = chosen !== "invite";
  $("passwordfield").hidden = chosen === "guest";
  $("passwordname").textContent = password;
  $("password").required = chosen !== "guest";
  $("password").minLength = chosen === "invite" ? 8 : 0;
  $("password").autocomplete = complete;
  $("enter").textContent = enter;
  $("refused").textContent = "";
}

// setUpForm calls logIn(login, rooms, firstRoom) when the form is submitted. login is as in
// Client.connect. rooms are the names of the rooms to join, and firstRoom the one to show, or "". A
// link may carry an invite or a room: #invite=CODE, #room=NAME.
export function setUpForm(logIn) {
  const asked = new URLSearchParams(location.hash.slice(1));
  if (asked.has("invite") || asked.has("room")) history.replaceState(null, "", location.pathname);
  if (asked.get("room")) $("first").value = `#${asked.get("room").replace(/^#/, "")}`;
  $("invite").value = asked.get("invite") ?? "";
  $("name").value = load("weir.name") ?? "";
  $("unsafe").hidden = usable();
  choose(asked.has("invite") ? "invite" : load("weir.kind") ?? "guest");
  $("kinds").addEventListener("change", draw);
  $("door").addEventListener("submit", (e) => {
    e.preventDefault();
    const name = $("name").value.trim();
    const first = $("first").value.trim().replace(/[\s,]/g, "");
    const rooms = storedRooms(name);
    if (first) rooms.push(isRoom(first) ? first : `#${first}`);
    $("refused").textContent = "";
    $("enter").disabled = true;
    logIn({ kind: kind(), name, password: $("password").value, invite: $("invite").value.trim() }, rooms, first ? rooms.at(-1) : "");
  });
  $(load("weir.name") && kind() === "account" ? "password" : "name").focus();
}

// showRefusal shows the form again with an error.
export function showRefusal(why) {
  $("chat").hidden = true;
  $("door").hidden = false;
  $("refused").textContent = why;
  $("enter").disabled = false;
}

// hideForm hides the form. It returns false if it was hidden already.
export function hideForm() {
  if ($("door").hidden) return false;
  $("door").hidden = true;
  $("chat").hidden = false;
  $("password").value = $("invite").value = "";
  if (kind() === "invite") choose("account");
  return true;
}
