// A page over HTTP by Deno.serve: one thread, an event loop, promises.

const BACKLOG = 4096;
const FINISHING_MS = 1500; // how long requests that are being answered may take after SIGTERM
const NUMBER_MAX = 1e9;

interface Options {
  listen: { hostname: string; port: number };
  page: string;
  sleepMS: number;
  sleepEvery: number; // 0: no request sleeps
}

function die(status: number, message: string): never {
  Deno.stderr.writeSync(new TextEncoder().encode(`http-deno: ${message}\n`));
  Deno.exit(status);
}

function number(flag: string, text: string): number {
  const n = /^\d+$/.test(text) ? Number(text) : -1;
  if (n < 0 || n > NUMBER_MAX) die(2, `${flag} takes a number from 0 to ${NUMBER_MAX}, not "${text}"`);
  return n;
}

function address(text: string): Options["listen"] {
  const match = /^(?:\[([^\]]+)\]|([^:]+)):(\d+)$/.exec(text);
  const port = match ? Number(match[3]) : 0;
  if (match === null || port < 1 || port > 65535) die(2, `--listen takes HOST:PORT with a port from 1 to 65535, not "${text}"`);
  return { hostname: match[1] ?? match[2], port };
}

function parse(args: string[]): Options {
  const given = new Map([["--listen", ""], ["--workload", "page"], ["--www", ""], ["--sleep-ms", "0"], ["--sleep-every", "0"]]);
  for (let i = 0; i < args.length; i += 2) {
    if (!given.has(args[i])) die(2, `unknown flag "${args[i]}"`);
    if (i + 1 === args.length) die(2, `${args[i]} needs a value`);
    given.set(args[i], args[i + 1]);
  }
  const of = (flag: string) => given.get(flag)!;
  if (of("--workload") !== "page") die(2, `--workload takes page, not "${of("--workload")}"`);
  if (of("--www") === "") die(2, "--www DIR is missing");
  return {
    listen: address(of("--listen")),
    page: `${of("--www")}/page.html`,
    sleepMS: number("--sleep-ms", of("--sleep-ms")),
    sleepEvery: number("--sleep-every", of("--sleep-every")),
  };
}

const options = parse(Deno.args);
const asleep = new Set<() => void>(); // what wakes the requests that sleep
let stopping = false;
let requests = 0;

function say(status: number, text: string, head: Record<string, string> = {}): Response {
  return new Response(text, { status, headers: { "Content-Type": "text/plain; charset=utf-8", ...head } });
}

async function sleep(): Promise<void> {
  if (stopping) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, options.sleepMS);
  asleep.add(resolve);
  await promise;
  asleep.delete(resolve);
  clearTimeout(timer);
}

async function handle(request: Request): Promise<Response> {
  const { pathname } = new URL(request.url);
  if (pathname !== "/" && pathname !== "/page.html") return say(404, "not found\n");
  if (request.method !== "GET" && request.method !== "HEAD") return say(405, "method not allowed\n", { Allow: "GET, HEAD" });
  if (++requests % options.sleepEvery === 0) await sleep();
  try {
    const page = await Deno.readFile(options.page);
    const head = { "Content-Type": "text/html; charset=utf-8", "Content-Length": String(page.length) };
    return new Response(request.method === "HEAD" ? null : page, { headers: head });
  } catch {
    return say(404, "not found\n");
  }
}

function listen() {
  try {
    return Deno.serve({ ...options.listen, tcpBacklog: BACKLOG, onListen: () => {} }, handle);
  } catch (error) {
    die(1, `cannot listen: ${error instanceof Error ? error.message : error}`);
  }
}

const server = listen();

function stop() {
  stopping = true;
  for (const wake of asleep) wake();
  setTimeout(() => Deno.exit(0), FINISHING_MS);
  server.shutdown().then(() => Deno.exit(0));
}

Deno.addSignalListener("SIGTERM", stop);
Deno.addSignalListener("SIGINT", stop);
