// Completion of nicks and rooms by Tab. Pressing it again shows the next candidate.

import { fold } from "./irc.js";

export class Completion {
  // field is a textarea; names() returns the candidates, the likeliest first.
  constructor(field, names) {
    this.field = field;
    this.names = names;
    this.state = null; // {start, rest, found, next, value}
  }

  // next completes the word before the cursor. It returns false if there is no candidate: Tab then
  // moves the focus.
  next(back) {
    const { field } = this;
    if (!this.state || this.state.value !== field.value) this.state = this.begin();
    const s = this.state;
    if (!s || s.found.length === 0) return false;
    s.at = (s.at + (back ? s.found.length - 1 : 1)) % s.found.length;
    const name = s.found[s.at] + (s.start === 0 && !s.found[s.at].startsWith("#") ? ": " : " ");
    field.value = field.value.slice(0, s.start) + name + s.rest;
    field.setSelectionRange(s.start + name.length, s.start + name.length);
    s.value = field.value;
    return true;
  }

  begin() {
    const { value, selectionStart } = this.field;
    const start = value.slice(0, selectionStart).search(/\S+$/);
    if (start < 0) return null;
    const word = fold(value.slice(start, selectionStart));
    const found = this.names().filter((n) => fold(n).startsWith(word));
    return { start, rest: value.slice(selectionStart), found, at: -1, value };
  }
}
