// The search panel: a query and its results, which open the messages.

import { button, nickOf } from "./message.js";
import { isRoom } from "./irc.js";
import { jump, search } from "./history.js";

const $ = (id) => document.getElementById(id);
const when = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

export class Finder {
  // app = {client, shown(), open(room)}.
  constructor(app) {
    this.app = app;
    this.words = "";
    $("find").addEventListener("click", () => (this.open ? this.close() : this.show()));
    $("found-close").addEventListener("click", () => this.close());
    $("query").addEventListener("submit", (e) => {
      e.preventDefault();
      this.search($("words").value);
    });
    $("found").addEventListener("keydown", (e) => this.keyPressed(e));
  }

  get open() {
    return !$("finding").hidden;
  }

  show() {
    $("finding").hidden = false;
    $("find").setAttribute("aria-expanded", "true");
    $("everywhere").closest("label").hidden = !this.app.shown();
    $("words").focus();
    $("words").select();
  }

  close() {
    $("finding").hidden = true;
    $("find").setAttribute("aria-expanded", "false");
    $("say").focus();
  }

  search(words) {
    this.words = words.trim();
    $("found").replaceChildren();
    if (!this.words) return;
    if (!this.app.client.caps.has("draft/search")) {
      this.showResults(null, "This server does not support search.");
      return;
    }
    $("found-state").textContent = "Searching …";
    this.waiting = true;
    search(this.app.client, this.words, $("everywhere").checked ? null : this.app.shown());
  }

  // showResults shows the results, newest first; results is null if the search failed.
  showResults(results, why) {
    if (!this.waiting && results === null && this.app.client.caps.has("draft/search")) return;
    this.waiting = false;
    const n = results?.length ?? 0;
    $("found-state").textContent = why || (n === 0 ? "Nothing was found." : n === 1 ? "1 message was found." : `${n} messages were found, the newest first.`);
    $("found").replaceChildren(...(results ?? []).reverse().map((r) => this.entry(r)));
  }

  entry(r) {
    const li = document.createElement("li");
    const b = button("", "", "", () => {
      const room = this.app.client.rooms.get(r.room.toLowerCase()) ?? this.app.client.join(r.room);
      this.app.open(room);
      jump(this.app.client, room, r.id);
    });
    const head = document.createElement("span");
    head.className = "head";
    head.append(nickOf(r.nick), ` ${isRoom(r.room) ? `in ${r.room}, ` : ""}${when.format(r.time)}`);
    const text = document.createElement("span");
    text.className = "words";
    this.mark(text, r.text);
    b.append(head, text);
    li.append(b);
    return li;
  }

  // mark appends text and marks the words of the query.
  mark(node, text) {
    const words = this.words.split(/\s+/).map((w) => w.replace(/^-.*|^\w+:\S*|["*]/g, "")).filter(Boolean);
    if (words.length === 0) return node.append(text);
    const any = new RegExp(words.map((w) => w.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")).join("|"), "giu");
    let from = 0;
    for (const found of text.matchAll(any)) {
      const m = document.createElement("mark");
      m.textContent = found[0];
      node.append(text.slice(from, found.index), m);
      from = found.index + found[0].length;
    }
    node.append(text.slice(from));
  }

  // keyPressed moves the focus between the results, and above the first one to the words.
  keyPressed(e) {
    const to = { ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling" }[e.key];
    if (!to) return;
    e.preventDefault();
    (e.target.closest("li")?.[to]?.firstChild ?? (e.key === "ArrowUp" ? $("words") : null))?.focus();
  }
}
