// The dialogs: room settings and help.

import { commands } from "./say.js";

const $ = (id) => document.getElementById(id);

const keys = [
  ["Enter", "sends; Shift and Enter begin a new line"],
  ["Tab", "completes a name or a room"],
  ["Alt ↑ ↓", "go to another room; with Shift to one with something unread"],
  ["Alt S", "searches"],
  ["↑", "in an empty field: to the messages. There ↑ and ↓ move, Enter leads to what can be done, R replies, Delete removes"],
  ["Escape", "closes what is open, and goes to the newest message"],
];

// About is the dialog of a room; app = {client, shown(), showError(room, text)}.
export class About {
  constructor(app) {
    this.app = app;
    $("more").addEventListener("click", () => this.open());
    $("about-form").addEventListener("submit", (e) => e.submitter?.value === "save" && this.save());
    $("leave").addEventListener("click", () => {
      $("about").close();
      if (app.shown()) app.client.leave(app.shown());
    });
    $("helping").addEventListener("click", () => {
      $("about").close();
      help();
    });
  }

  open() {
    const room = this.app.shown();
    $("about-title").textContent = room?.name ?? "No room";
    $("about-topicfield").hidden = $("about-save").hidden = !room || room.direct;
    $("about-topic").value = room?.topic ?? "";
    $("about-topic").maxLength = Number(this.app.client.supported.get("TOPICLEN")) || 300;
    $("leave").hidden = !room;
    $("leave").textContent = room?.direct ? "Close this conversation" : "Leave this room";
    $("about").showModal();
  }

  save() {
    const room = this.app.shown();
    const topic = $("about-topic").value.replace(/\s+/g, " ").trim();
    if (room && topic !== room.topic) this.app.client.send("TOPIC", [room.name, topic]);
  }
}

// help shows the commands and shortcuts.
export function help() {
  const list = [...commands.filter((c) => c.about).map((c) => [`/${c.name} ${c.use}`.trim(), c.about]), ["//", "starts a message that begins with a slash"], ...keys];
  $("helplist").replaceChildren(...list.flatMap(([term, about]) => {
    const [dt, dd] = [document.createElement("dt"), document.createElement("dd")];
    dt.textContent = term;
    dd.textContent = about;
    return [dt, dd];
  }));
  $("help").showModal();
}
