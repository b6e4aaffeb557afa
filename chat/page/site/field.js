// The input field, with the message that a reply refers to above it.

import { Completion } from "./complete.js";
import { fold, isRoom } from "./irc.js";
import { nickOf } from "./message.js";
import { run } from "./say.js";
import { typing } from "./talk.js";

const $ = (id) => document.getElementById(id);

export class Field {
  // app = {client, shown(), open(room), showError(room, text), help(), find(words), sent()}.
  constructor(app) {
    this.app = app;
    this.field = $("say");
    this.reply = null; // the message that the next one replies to
    this.completion = new Completion(this.field, () => this.names());
    $("saying").addEventListener("submit", (e) => this.sendText(e));
    $("answer-off").addEventListener("click", () => this.cancelReply());
    this.field.addEventListener("keydown", (e) => this.keyPressed(e));
    this.field.addEventListener("input", () => this.input());
  }

  focus() {
    this.field.focus();
  }

  // write inserts text at the cursor, or appends it to the draft of a room that is not shown.
  write(text, room) {
    const { field } = this;
    if (room !== this.app.shown()) {
      room.draft = `${room.draft} ${text} `.trimStart();
      return;
    }
    const before = field.value.slice(0, field.selectionStart);
    field.setRangeText((before && !/\s$/.test(before) ? " " : "") + text + " ", field.selectionStart, field.selectionEnd, "end");
    this.grow();
    field.focus();
  }

  // sendText sends the text of the field, or runs it as a command.
  sendText(e) {
    e?.preventDefault();
    const text = this.field.value;
    if (!text.trim()) return;
    const { client, open, showError, help, find } = this.app;
    const reply = this.reply?.id ?? "";
    this.field.value = "";
    this.grow();
    this.cancelReply();
    this.app.sent();
    run({ client, room: this.app.shown(), open, showError, help, find }, text, reply);
  }

  input() {
    this.grow();
    const room = this.app.shown();
    const text = this.field.value;
    if (room) typing(this.app.client, room, text !== "" && !/^\/(?!me )/.test(text));
  }

  // switchRoom stores the draft of one room and shows the draft of another.
  switchRoom(from, to) {
    if (from) from.draft = this.field.value;
    this.cancelReply();
    this.field.value = to?.draft ?? "";
    this.field.placeholder = to ? `Message to ${to.name}` : "/join #room";
    this.grow();
    if (!matchMedia("(pointer: coarse)").matches) this.focus();
  }

  // replyTo makes the next message a reply to m.
  replyTo(m) {
    this.reply = m;
    $("answering").hidden = false;
    $("answered").replaceChildren("Replying to ", nickOf(m.nick), ` ${m.text.split("\n", 1)[0].slice(0, 120)}`);
    this.focus();
  }

  // cancelReply cancels the reply. It returns false if there was none.
  cancelReply() {
    const was = this.reply !== null;
    this.reply = null;
    $("answering").hidden = true;
    return was;
  }

  // grow adapts the height of the field to its text.
  grow() {
    const { field } = this;
    field.style.height = "auto";
    if (field.scrollHeight > 0) field.style.height = `${Math.min(field.scrollHeight + 2, innerHeight / 3)}px`;
  }

  keyPressed(e) {
    if (e.key === "Enter" && !e.shiftKey && !e.isComposing) this.sendText(e);
    else if (e.key === "Tab" && !e.altKey && !e.ctrlKey && this.completion.next(e.shiftKey)) e.preventDefault();
    else if (e.key === "ArrowUp" && this.field.value === "" && !e.altKey) this.focusNewestMessage(e);
  }

  focusNewestMessage(e) {
    const last = [...document.querySelectorAll("#log article:not(.waiting)")].at(-1);
    if (!last) return;
    e.preventDefault();
    last.tabIndex = 0;
    last.focus();
  }

  names() {
    const { client } = this.app;
    const room = this.app.shown();
    const spoke = (room?.messages ?? []).map((m) => m.nick).reverse();
    const people = room?.direct ? [room.name] : (room?.sorted() ?? []).map((p) => p.nick);
    const here = new Set(people.map(fold));
    const names = [...new Set(spoke.filter((n) => here.has(fold(n))).concat(people))].filter((n) => n !== client.nick);
    return names.concat([...client.rooms.values()].map((r) => r.name).filter(isRoom));
  }
}
