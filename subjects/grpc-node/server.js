// The service helloworld.Greeter by @grpc/grpc-js: one thread, an event loop, callbacks.
'use strict';

const fs = require('node:fs');
const path = require('node:path');

const grpc = require('@grpc/grpc-js');
const loader = require('@grpc/proto-loader');

const FINISHING_MS = 1500; // how long calls under way may take after SIGTERM

function die(status, message) {
  fs.writeSync(2, `grpc-node: ${message}\n`);
  process.exit(status);
}

function parse(args) {
  const options = { listen: '', cert: '', key: '' };
  for (let i = 0; i < args.length; i += 2) {
    const name = args[i].replace(/^--/, '');
    if (i + 1 === args.length) die(2, `${args[i]} needs a value`);
    if (name === 'workload') {
      if (args[i + 1] !== 'grpc') die(2, `--workload takes grpc, not "${args[i + 1]}"`);
    } else if (Object.hasOwn(options, name)) {
      options[name] = args[i + 1];
    } else {
      die(2, `unknown flag "${args[i]}"`);
    }
  }
  const port = Number(/:(\d+)$/.exec(options.listen)?.[1]);
  if (!(port >= 1 && port <= 65535)) die(2, `--listen takes HOST:PORT with a port from 1 to 65535, not "${options.listen}"`);
  if ((options.cert === '') !== (options.key === '')) die(2, 'TLS needs both --cert FILE and --key FILE');
  return options;
}

function credentials(options) {
  if (options.cert === '') return grpc.ServerCredentials.createInsecure();
  return grpc.ServerCredentials.createSsl(null, [{ cert_chain: fs.readFileSync(options.cert), private_key: fs.readFileSync(options.key) }]);
}

function serve(options) {
  const { helloworld } = grpc.loadPackageDefinition(loader.loadSync(path.join(__dirname, 'greeter.proto')));
  const server = new grpc.Server();
  server.addService(helloworld.Greeter.service, {
    sayHello: (call, answer) => answer(null, { message: `Hello ${call.request.name}` }),
  });
  let stopping = false;
  function stop() {
    if (stopping) return;
    stopping = true;
    server.tryShutdown(() => process.exit(0));
    setTimeout(() => process.exit(0), FINISHING_MS);
  }
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  server.bindAsync(options.listen, credentials(options), (error) => {
    if (error) die(1, `cannot listen: ${error.message}`);
  });
}

serve(parse(process.argv.slice(2)));
