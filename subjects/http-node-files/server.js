// The files of a folder over HTTP by Node's http and https modules: one thread, an event loop. Node
// has no file serving of its own. A file is kept in memory, and looked at again after a second.
'use strict';

const fs = require('node:fs');
const http = require('node:http');
const https = require('node:https');
const net = require('node:net');
const path = require('node:path');

const BACKLOG = 4096;
const FINISHING_MS = 1500; // how long requests that are being answered may take after SIGTERM
const KEEP_ALIVE_MS = 75_000;
const FRESH_MS = 1000;
const KINDS = { '.html': 'text/html; charset=utf-8', '.txt': 'text/plain; charset=utf-8' };

function die(status, message) {
  fs.writeSync(2, `http-node-files: ${message}\n`);
  process.exit(status);
}

function address(text) {
  const match = /^(?:\[([^\]]+)\]|([^:]+)):(\d+)$/.exec(text);
  const port = match ? Number(match[3]) : 0;
  if (port < 1 || port > 65535) die(2, `--listen takes HOST:PORT with a port from 1 to 65535, not "${text}"`);
  return { host: match[1] ?? match[2], port };
}

function parse(args) {
  const options = { listen: null, www: null, cert: '', key: '' };
  const flags = {
    '--listen': (text) => { options.listen = address(text); },
    '--workload': (text) => { if (text !== 'files') die(2, `--workload takes files, not "${text}"`); },
    '--www': (text) => { options.www = text; },
    '--cert': (text) => { options.cert = text; },
    '--key': (text) => { options.key = text; },
  };
  for (let i = 0; i < args.length; i += 2) {
    if (!Object.hasOwn(flags, args[i])) die(2, `unknown flag "${args[i]}"`);
    if (i + 1 === args.length) die(2, `${args[i]} needs a value`);
    flags[args[i]](args[i + 1]);
  }
  if (options.listen === null) die(2, '--listen HOST:PORT is missing');
  if (options.www === null) die(2, '--www DIR is missing');
  if ((options.cert === '') !== (options.key === '')) die(2, 'TLS needs both --cert FILE and --key FILE');
  return options;
}

const options = parse(process.argv.slice(2));
const kept = new Map(); // from the path of a request to { checked, head, text }

// Reads a file of the folder; undefined if there is none.
function read(name) {
  const file = path.join(options.www, path.normalize(name));
  try {
    const about = fs.statSync(file);
    if (!about.isFile()) return undefined;
    const head = {
      'Content-Type': KINDS[path.extname(file)] ?? 'application/octet-stream',
      'Content-Length': about.size,
      'Last-Modified': about.mtime.toUTCString(),
      ETag: `"${about.mtimeMs.toString(36)}-${about.size.toString(36)}"`,
    };
    return { checked: Date.now(), head, text: fs.readFileSync(file) };
  } catch {
    return undefined;
  }
}

function find(name) {
  let file = kept.get(name);
  if (file !== undefined && Date.now() - file.checked < FRESH_MS) return file;
  file = read(name);
  if (file === undefined) kept.delete(name);
  else kept.set(name, file);
  return file;
}

function say(response, status, head, text) {
  response.writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8', 'Content-Length': text.length, ...head });
  response.end(text);
}

function handle(request, response) {
  const connection = request.socket;
  connections.set(connection, connections.get(connection) + 1);
  response.on('finish', () => { if (connections.has(connection)) connections.set(connection, connections.get(connection) - 1); });
  if (request.method !== 'GET' && request.method !== 'HEAD') return say(response, 405, { Allow: 'GET, HEAD' }, 'method not allowed\n');
  const file = find(request.url.split('?', 1)[0]);
  if (file === undefined) return say(response, 404, {}, 'not found\n');
  if (request.headers['if-none-match'] === file.head.ETag) {
    response.writeHead(304, { ETag: file.head.ETag });
    return response.end();
  }
  response.writeHead(200, file.head);
  response.end(file.text);
}

const connections = new Map(); // from open connections to the number of their requests under way
let stopping = false;

// Ends the connections that have had their answer. closeIdleConnections also cuts off one whose
// response is still in this process.
function endIdle() {
  for (const [connection, requests] of connections) {
    if (requests === 0 && connection.writableLength === 0) connection.end();
  }
}

// Answers what is being answered, and ends with the last connection.
function stop() {
  if (stopping) return;
  stopping = true;
  // the close of http also closes idle connections
  net.Server.prototype.close.call(server, () => process.exit(0));
  setTimeout(() => process.exit(0), FINISHING_MS);
  setInterval(endIdle, 10);
}

function make(settings) {
  if (options.cert === '') return http.createServer(settings, handle);
  const tls = { cert: fs.readFileSync(options.cert), key: fs.readFileSync(options.key), minVersion: 'TLSv1.3', ciphers: 'TLS_AES_128_GCM_SHA256' };
  return https.createServer({ ...settings, ...tls }, handle);
}

const server = make({ noDelay: true, keepAliveTimeout: KEEP_ALIVE_MS });
server.on('error', (error) => die(1, `cannot listen: ${error.message}`));
server.on(options.cert === '' ? 'connection' : 'secureConnection', (connection) => {
  connections.set(connection, 0);
  connection.on('close', () => connections.delete(connection));
});
process.on('SIGTERM', stop);
process.on('SIGINT', stop);
server.listen({ ...options.listen, backlog: BACKLOG });
