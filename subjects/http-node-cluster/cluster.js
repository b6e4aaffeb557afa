// The server of ../http-node in several processes, one for each processor: Node's cluster module
// accepts in the first and gives the connections to the others in turn.
'use strict';

const cluster = require('node:cluster');
const os = require('node:os');
const { parse, serve, die } = require('../http-node/server.js');

const options = parse(process.argv.slice(2));

function lead() {
  let stopping = false;

  function stop() {
    stopping = true;
    for (const worker of Object.values(cluster.workers)) worker.process.kill('SIGTERM');
  }

  function fail(status, message) { // without a word from the other workers
    for (const worker of Object.values(cluster.workers)) worker.process.kill('SIGKILL');
    die(status, message);
  }

  cluster.on('message', (_, { status, message }) => fail(status, message));
  // a connection for a worker that is ending: without a listener the error would end this process
  cluster.on('fork', (worker) => worker.on('error', (err) => { if (!stopping) fail(1, `a worker: ${err.message}`); }));
  cluster.on('exit', (worker, code) => {
    if (!stopping) fail(1, `a worker ended with status ${code}`);
    if (Object.keys(cluster.workers).length === 0) process.exit(0);
  });
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  for (let i = 0; i < os.availableParallelism(); i++) cluster.fork();
}

if (cluster.isPrimary) lead();
else serve(options);
