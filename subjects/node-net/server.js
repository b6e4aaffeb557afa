// An event loop: Node's own, one thread, callbacks of the net module.
//
// Limitations: Node itself chooses to read up to 65,536 bytes at a time. A slow reader of
// standard output delays all connections. When descriptors run out, Node closes new connections
// instead of pausing.
'use strict';

const fs = require('node:fs');
const net = require('node:net');

const BACKLOG = 4096;
const QUIET_MS = 50; // draining ends when nothing has come for so long,
const DRAIN_MS = 1000; // or after this
const NUMBER_MAX = 1e9;

function die(status, message) {
  fs.writeSync(2, `node-net: ${message}\n`);
  process.exit(status);
}

function number(flag, text, low) {
  const n = /^\d+$/.test(text) ? Number(text) : -1;
  if (n < low || n > NUMBER_MAX) {
    die(2, `${flag} takes a number from ${low} to ${NUMBER_MAX}, not "${text}"`);
  }
  return n;
}

function address(text) {
  const match = /^(?:\[([^\]]+)\]|([^:]+)):(\d+)$/.exec(text);
  const port = match ? Number(match[3]) : 0;
  if (port < 1 || port > 65535) {
    die(2, `--listen takes HOST:PORT with a port from 1 to 65535, not "${text}"`);
  }
  return { host: match[1] ?? match[2], port };
}

function workload(text) {
  if (text !== 'sink' && text !== 'echo') {
    die(2, `--workload takes sink or echo, not "${text}"`);
  }
  return text === 'echo';
}

function parse(args) {
  const options = { listen: null, echo: false, size: 1000, workUS: 0, waitMS: 0 };
  const flags = {
    '--listen': (text) => { options.listen = address(text); },
    '--workload': (text) => { options.echo = workload(text); },
    '--size': (text) => { options.size = number('--size', text, 1); },
    '--work-us': (text) => { options.workUS = number('--work-us', text, 0); },
    '--wait-ms': (text) => { options.waitMS = number('--wait-ms', text, 0); },
  };
  for (let i = 0; i < args.length; i += 2) {
    if (!Object.hasOwn(flags, args[i])) die(2, `unknown flag "${args[i]}"`);
    if (i + 1 === args.length) die(2, `${args[i]} needs a value`);
    flags[args[i]](args[i + 1]);
  }
  if (options.listen === null) die(2, '--listen HOST:PORT is missing');
  return options;
}

function burn(microseconds) {
  const end = performance.now() + microseconds / 1000;
  while (performance.now() < end);
}

// Writes all of data to standard output before anything else happens, as every subject does.
function print(data) {
  for (let from = 0; from < data.length;) {
    try {
      from += fs.writeSync(1, data, from);
    } catch (error) {
      if (error.code !== 'EAGAIN') die(1, `cannot write to standard output: ${error.message}`);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1); // a pipe that is full: 1 ms
    }
  }
}

const options = parse(process.argv.slice(2));
const sessions = new Set();
let quiet = null; // the timer of the drain; null while serving

class Session {
  constructor(socket) {
    this.socket = socket;
    this.part = 0; // bytes of the unfinished message
    this.held = null; // bytes that wait
    this.timer = null; // of the wait
    this.ended = false; // the client sends no more; Node says so during a wait, too
    socket.on('data', (data) => this.input(data));
    socket.on('drain', () => socket.resume());
    socket.on('end', () => this.end());
    socket.on('error', () => {}); // a reset; close follows
    socket.on('close', () => this.close());
  }

  input(data) {
    quiet?.refresh();
    const bytes = this.part + data.length;
    const messages = Math.floor(bytes / options.size);
    this.part = bytes % options.size;
    if (messages > 0 && options.workUS > 0) burn(messages * options.workUS);
    if (messages > 0 && options.waitMS > 0 && quiet === null) {
      this.held = data;
      this.socket.pause();
      this.timer = setTimeout(() => this.endWait(), messages * options.waitMS);
    } else {
      this.deliver(data);
    }
  }

  endWait() {
    const data = this.held;
    clearTimeout(this.timer);
    this.held = null;
    this.socket.resume();
    this.deliver(data);
    if (this.ended) this.socket.end();
  }

  deliver(data) {
    if (!options.echo) {
      print(data);
    } else if (!this.socket.write(data)) {
      this.socket.pause(); // until 'drain'
    }
  }

  end() {
    this.ended = true;
    if (this.held === null) this.socket.end();
  }

  close() {
    if (this.held !== null) this.endWait();
    sessions.delete(this);
    if (quiet !== null && sessions.size === 0) process.exit(0);
  }
}

// Handles what still comes until it is quiet, then closes; at the deadline it goes in any case.
function drain() {
  if (quiet !== null) return;
  server.close();
  quiet = setTimeout(() => { for (const s of sessions) s.socket.end().destroySoon(); }, QUIET_MS);
  setTimeout(() => process.exit(0), DRAIN_MS);
  for (const s of sessions) if (s.held !== null) s.endWait();
  if (sessions.size === 0) process.exit(0);
}

const server = net.createServer({ allowHalfOpen: true, noDelay: true });
server.on('connection', (socket) => sessions.add(new Session(socket)));
server.on('error', (error) => die(1, `cannot listen: ${error.message}`));
process.on('SIGTERM', drain);
process.on('SIGINT', drain);
server.listen({ ...options.listen, backlog: BACKLOG });
