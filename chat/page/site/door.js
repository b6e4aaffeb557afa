// The login form.

import { isRoom } from "./irc.js";
import { usable } from "./scram.js";

const $ = (id) => document.getElementById(id);
const notes = {
  account: { password: "Password", complete: "current-password", enter: "Come in" },
  invite: { password: "Choose a password: 8 characters or more", complete: "new-password", enter: "Make my account and come in" },
  guest: { password: "", complete: "off", enter: "Come in as a guest" },
};

const place = (name) => `weir.rooms.${name.toLowerCase()}`;

// kept and keep read and write the browser's local storage, which may be disabled.
function kept(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

function keep(name, value) {
  try {
    localStorage.setItem(name, value);
  } catch {
    // not stored: the form is empty next time
  }
}

// remember stores the name, the kind of login and the rooms. It never stores a password.
export function remember(client) {
  if (!client.ready) return;
  const rooms = [...client.rooms.values()].filter((r) => r.wanted || r.direct).map((r) => r.name);
  keep("weir.name", client.name);
  keep("weir.kind", client.account ? "account" : "guest");
  keep(place(client.name), JSON.stringify(rooms));
}

function recall(name) {
  try {
    return JSON.parse(kept(place(name))) ?? [];
  } catch {
    return [];
  }
}

const kind = () => document.querySelector("#kinds input:checked").value;

function choose(which) {
  document.querySelector(`#kinds input[value="${which}"]`).checked = true;
  draw();
}

function draw() {
  const is = kind();
  const { password, complete, enter } = notes[is];
  $("invitefield").hidden = $("invitenote").hidden = is !== "invite";
  $("passwordfield").hidden = is === "guest";
  $("passwordname").textContent = password;
  $("password").required = is !== "guest";
  $("password").minLength = is === "invite" ? 8 : 0;
  $("password").autocomplete = complete;
  $("enter").textContent = enter;
  $("refused").textContent = "";
}

// prepare sets up the form and calls come(how, rooms, first) when it is submitted. A link may carry
// an invite or a room: #invite=CODE, #room=NAME.
export function prepare(come) {
  const asked = new URLSearchParams(location.hash.slice(1));
  if (asked.has("invite") || asked.has("room")) history.replaceState(null, "", location.pathname);
  if (asked.get("room")) $("first").value = `#${asked.get("room").replace(/^#/, "")}`;
  $("invite").value = asked.get("invite") ?? "";
  $("name").value = kept("weir.name") ?? "";
  $("unsafe").hidden = usable();
  choose(asked.has("invite") ? "invite" : kept("weir.kind") ?? "guest");
  $("kinds").addEventListener("change", draw);
  $("door").addEventListener("submit", (e) => {
    e.preventDefault();
    const name = $("name").value.trim();
    const first = $("first").value.trim().replace(/[\s,]/g, "");
    const rooms = recall(name);
    if (first) rooms.push(isRoom(first) ? first : `#${first}`);
    $("refused").textContent = "";
    $("enter").disabled = true;
    come({ kind: kind(), name, password: $("password").value, invite: $("invite").value.trim() }, rooms, first ? rooms.at(-1) : "");
  });
  $(kept("weir.name") && kind() === "account" ? "password" : "name").focus();
}

// refuse shows the form again with an error.
export function refuse(why) {
  $("chat").hidden = true;
  $("door").hidden = false;
  $("refused").textContent = why;
  $("enter").disabled = false;
}

// leave hides the form. It returns false if it was hidden already.
export function leave() {
  if ($("door").hidden) return false;
  $("door").hidden = true;
  $("chat").hidden = false;
  $("password").value = $("invite").value = "";
  if (kind() === "invite") choose("account");
  return true;
}
