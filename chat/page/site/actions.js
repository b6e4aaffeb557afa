// The actions on a message: a bar of buttons on the message under the pointer or with the focus,
// and keyboard shortcuts.

import { button, element } from "./message.js";
import { fold } from "./irc.js";
import { react, redact } from "./talk.js";

const quick = [["👍", "Thumbs up"], ["❤️", "Heart"], ["😂", "Laughing"], ["🎉", "Hooray"], ["😮", "Surprised"], ["😢", "Sad"]];

export class Actions {
  // app = {client, shown(), reply(message), field}. log is the element of the messages.
  // this.message is the message that the bar is on; null: the bar is hidden.
  constructor(app, log) {
    Object.assign(this, { app, log, message: null });
    this.bar = element("div", "actions");
    this.bar.setAttribute("role", "toolbar");
    this.bar.setAttribute("aria-label", "This message");
    for (const [sign, name] of quick) this.bar.append(button("sign", sign, name, () => this.react(sign)));
    this.bar.append(button("", "Reply", "", () => this.reply()));
    this.remove = button("", "Delete", "", () => this.redact());
    this.bar.append(this.remove);
    // touch scrolling also sends pointerover: only a tap chooses a message
    log.addEventListener("pointerover", (e) => e.pointerType !== "touch" && this.showFor(e.target));
    log.addEventListener("pointerleave", () => !this.bar.contains(document.activeElement) && this.hide());
    log.addEventListener("focusin", (e) => this.showFor(e.target));
    log.addEventListener("click", (e) => this.showFor(e.target));
    log.addEventListener("keydown", (e) => this.keyPressed(e));
  }

  // messageOf returns the message of an element; undefined if it has no actions. A message that is
  // not in the server's log, such as an error that only this page shows, has the offset NaN and no
  // actions.
  messageOf(node) {
    const room = this.app.shown();
    const m = (room?.past ?? room)?.ids.get(node?.dataset.id);
    return m && !m.redacted && !m.event && m.id && !Number.isNaN(m.offset) ? m : undefined;
  }

  // showFor puts the bar on the message of an element. While a button of the bar has the focus, the
  // pointer does not move the bar to another message.
  showFor(target) {
    const node = target.closest?.("article");
    if (this.bar.parentNode === node && node) return;
    if (this.bar.contains(document.activeElement) && target !== document.activeElement) return;
    const m = this.messageOf(node);
    if (!m || !this.app.client.ready) return;
    this.message = m;
    this.remove.hidden = !this.removable(m);
    node.append(this.bar);
  }

  // removable reports whether the user may delete a message: an own one, or any as an operator.
  removable(m) {
    const { client } = this.app;
    const mine = fold(m.account) === fold(client.account) && client.account !== "";
    return client.caps.has("draft/message-redaction") && (mine || this.app.shown().operator(client.nick));
  }

  // hide removes the bar.
  hide() {
    this.bar.remove();
    this.message = null;
  }

  // react, reply and redact act on the message that the bar is on, and hide the bar.
  react(sign) {
    const m = this.message;
    this.hide();
    react(this.app.client, this.app.shown(), m, sign);
    this.returnFocus(m);
  }

  reply() {
    const m = this.message;
    this.hide();
    this.app.reply(m);
  }

  redact() {
    const m = this.message;
    this.hide();
    if (confirm("Delete this message for all users?")) redact(this.app.client, this.app.shown(), m.id);
    this.returnFocus(m);
  }

  // returnFocus returns the focus to a message after its button was removed.
  returnFocus(m) {
    this.log.querySelector(`article[data-id="${CSS.escape(m.id)}"]`)?.focus({ preventScroll: true });
  }

  // keyPressed moves the focus between messages and handles their shortcuts.
  keyPressed(e) {
    const node = e.target.closest?.("article");
    if (!node || e.ctrlKey || e.altKey || e.metaKey) return;
    const among = [...this.log.querySelectorAll("article")];
    const at = among.indexOf(node);
    const inBar = this.bar.contains(e.target);
    const to = { ArrowUp: at - 1, ArrowDown: at + 1, Home: 0, End: among.length - 1 }[e.key];
    if (inBar && (e.key === "ArrowLeft" || e.key === "ArrowRight")) this.moveInBar(e);
    else if (to !== undefined) this.moveTo(e, among[to]);
    else if (e.target !== node) return;
    else if (e.key === "Enter") this.focusBar(e);
    else if (e.key === "r" && this.messageOf(node)) this.runShortcut(e, () => this.reply());
    else if (e.key === "Delete" && this.messageOf(node) && this.removable(this.messageOf(node))) this.runShortcut(e, () => this.redact());
  }

  // runShortcut shows the bar on the message that has the focus and calls act for that message.
  runShortcut(e, act) {
    e.preventDefault();
    this.showFor(e.target);
    act();
  }

  // focusBar moves the focus to the first button of the bar.
  focusBar(e) {
    e.preventDefault();
    this.bar.querySelector("button")?.focus();
  }

  // moveInBar moves the focus to the next or previous button of the bar.
  moveInBar(e) {
    const all = [...this.bar.querySelectorAll("button:not([hidden])")];
    const by = e.key === "ArrowLeft" ? -1 : 1;
    e.preventDefault();
    all[(all.indexOf(e.target) + by + all.length) % all.length].focus();
  }

  // moveTo moves the focus to a message, or below the last one to the input field.
  moveTo(e, node) {
    e.preventDefault();
    if (!node) {
      if (e.key === "ArrowDown") this.app.field.focus();
      return;
    }
    for (const old of this.log.querySelectorAll('article[tabindex="0"]')) old.tabIndex = -1;
    node.tabIndex = 0;
    node.focus();
    node.scrollIntoView({ block: "nearest" });
  }
}
