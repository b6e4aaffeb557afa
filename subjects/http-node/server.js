// A page over HTTP by Node's http module: one thread, an event loop, callbacks.
// ../http-node-cluster starts it in several processes.
'use strict';

const cluster = require('node:cluster');
const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');

const BACKLOG = 4096;
const FINISHING_MS = 1500; // how long requests that are being answered may take after SIGTERM
const KEEP_ALIVE_MS = 75_000;
const NUMBER_MAX = 1e9;

// In a worker of a cluster, the primary says it: once, not each.
function die(status, message) {
  if (cluster.isWorker) {
    process.send({ status, message }, () => process.exit(status));
    return;
  }
  fs.writeSync(2, `http-node: ${message}\n`);
  process.exit(status);
}

function number(flag, text) {
  const n = /^\d+$/.test(text) ? Number(text) : -1;
  if (n < 0 || n > NUMBER_MAX) die(2, `${flag} takes a number from 0 to ${NUMBER_MAX}, not "${text}"`);
  return n;
}

function address(text) {
  const match = /^(?:\[([^\]]+)\]|([^:]+)):(\d+)$/.exec(text);
  const port = match ? Number(match[3]) : 0;
  if (port < 1 || port > 65535) die(2, `--listen takes HOST:PORT with a port from 1 to 65535, not "${text}"`);
  return { host: match[1] ?? match[2], port };
}

function parse(args) {
  const options = { listen: null, www: null, sleepMS: 0, sleepEvery: 0 };
  const flags = {
    '--listen': (text) => { options.listen = address(text); },
    '--workload': (text) => { if (text !== 'page') die(2, `--workload takes page, not "${text}"`); },
    '--www': (text) => { options.www = text; },
    '--sleep-ms': (text) => { options.sleepMS = number('--sleep-ms', text); },
    '--sleep-every': (text) => { options.sleepEvery = number('--sleep-every', text); },
  };
  for (let i = 0; i < args.length; i += 2) {
    if (!Object.hasOwn(flags, args[i])) die(2, `unknown flag "${args[i]}"`);
    if (i + 1 === args.length) die(2, `${args[i]} needs a value`);
    flags[args[i]](args[i + 1]);
  }
  if (options.listen === null) die(2, '--listen HOST:PORT is missing');
  if (options.www === null) die(2, '--www DIR is missing');
  return options;
}

function serve(options) {
  const file = path.join(options.www, 'page.html');
  const asleep = new Map(); // from the timers of requests that sleep to what they do afterwards
  let requests = 0;
  let stopping = false;

  function say(response, status, head, text) {
    response.writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8', 'Content-Length': text.length, ...head });
    response.end(text);
  }

  function sendPage(response) {
    fs.readFile(file, (error, page) => {
      if (error) say(response, 404, {}, 'not found\n');
      else say(response, 200, { 'Content-Type': 'text/html; charset=utf-8' }, page);
    });
  }

  function handle(request, response) {
    const where = request.url.split('?', 1)[0];
    if (where !== '/' && where !== '/page.html') return say(response, 404, {}, 'not found\n');
    if (request.method !== 'GET' && request.method !== 'HEAD') return say(response, 405, { Allow: 'GET, HEAD' }, 'method not allowed\n');
    requests++;
    if (stopping || options.sleepEvery === 0 || requests % options.sleepEvery !== 0) return sendPage(response);
    const timer = setTimeout(() => { asleep.delete(timer); sendPage(response); }, options.sleepMS);
    asleep.set(timer, () => sendPage(response));
  }

  // Answers what is being answered, those that sleep at once, and ends with the last connection.
  function stop() {
    if (stopping) return;
    stopping = true;
    server.close(() => process.exit(0));
    server.closeIdleConnections();
    setTimeout(() => process.exit(0), FINISHING_MS);
    setInterval(() => server.closeIdleConnections(), 10); // those that have had their answer
    for (const [timer, wake] of asleep) {
      clearTimeout(timer);
      wake();
    }
  }

  const server = http.createServer({ noDelay: true, keepAliveTimeout: KEEP_ALIVE_MS }, handle);
  server.on('error', (error) => die(1, `cannot listen: ${error.message}`));
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  server.listen({ ...options.listen, backlog: BACKLOG });
}

module.exports = { parse, serve, die };
if (require.main === module) serve(parse(process.argv.slice(2)));
