// The WebSocket: it reconnects after a loss with exponential backoff.

const soonest = 500; // milliseconds until the first reconnect
const latest = 20000;
// After this many milliseconds without input a PING is sent; after twice as many the connection
// counts as lost.
const silence = 45000;

export class Socket {
  // events: opened(), received(line), lost(secondsToTheNextTry).
  constructor(events) {
    this.events = events;
    // With this id a new connection ends the one before: what was sent there and has not arrived
    // must not arrive after it was sent again.
    this.id = crypto.getRandomValues(new Uint32Array(4)).join(".");
    this.tries = 0;
    this.ws = null;
    this.timer = 0;
    this.lastInputTime = 0;
    this.retry = () => this.wanted && !this.ws && this.connect();
    addEventListener("online", this.retry);
    document.addEventListener("visibilitychange", this.retry);
    setInterval(() => this.check(), silence / 3);
  }

  connect() {
    clearTimeout(this.timer);
    this.wanted = true;
    const url = new URL("irc", location.href);
    url.searchParams.set("client", this.id);
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    const ws = new WebSocket(url, ["text.ircv3.net"]);
    this.ws = ws;
    this.lastInputTime = Date.now();
    ws.onopen = () => ws === this.ws && this.events.opened();
    ws.onmessage = (e) => {
      if (ws !== this.ws) return;
      this.lastInputTime = Date.now();
      this.events.received(e.data);
    };
    ws.onclose = () => ws === this.ws && this.lose();
  }

  // resetBackoff makes the next reconnect an early one. It is called when the registration is
  // complete: an open WebSocket alone does not show that the server works.
  resetBackoff() {
    this.tries = 0;
  }

  lose() {
    this.ws = null;
    if (!this.wanted) return;
    const wait = Math.min(latest, soonest * 2 ** this.tries++) * (0.75 + Math.random() / 2);
    this.timer = setTimeout(this.retry, wait);
    this.events.lost(Math.ceil(wait / 1000));
  }

  // check detects a dead connection.
  check() {
    const quiet = Date.now() - this.lastInputTime;
    if (this.ws?.readyState === WebSocket.OPEN && quiet > silence) this.send("PING :there?");
    if (this.ws && quiet > 2 * silence) {
      const ws = this.ws;
      this.lose();
      ws.close();
    }
  }

  send(line) {
    if (this.ws?.readyState === WebSocket.OPEN) this.ws.send(line);
  }

  close() {
    this.wanted = false;
    clearTimeout(this.timer);
    this.ws?.close(1000);
    this.ws = null;
  }
}
