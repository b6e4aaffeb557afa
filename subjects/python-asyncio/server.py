"""An event loop: asyncio's own, one thread, a protocol object for each connection.

Limitations: a slow reader of standard output holds up everybody. Draining ends when nothing has come for
50 ms, because a protocol cannot ask whether a read would block.
"""

import asyncio
import errno
import os
import resource
import signal
import sys
import time

BACKLOG = 4096
READ_MAX = 4096  # bytes a read may return
QUIET_S = 0.05  # draining ends when nothing has come for so long,
DRAIN_S = 1.0  # or after this
NUMBER_MAX = 10**9


def die(status, message):
    print(f"python-asyncio: {message}", file=sys.stderr, flush=True)
    os._exit(status)


class Options:
    """The command line, checked."""

    def __init__(self, args):
        self.host, self.port = None, 0
        self.echo, self.size, self.work_us, self.wait_ms = False, 1000, 0, 0
        for flag, value in zip(args[::2], args[1::2] + [None]):
            self.set(flag, value)
        if self.host is None:
            die(2, "--listen HOST:PORT is missing")

    def set(self, flag, value):
        if flag not in ("--listen", "--workload", "--size", "--work-us", "--wait-ms"):
            die(2, f'unknown flag "{flag}"')
        if value is None:
            die(2, f"{flag} needs a value")
        if flag == "--listen":
            self.address(value)
        elif flag == "--workload":
            if value not in ("sink", "echo"):
                die(2, f'--workload takes sink or echo, not "{value}"')
            self.echo = value == "echo"
        else:
            setattr(self, flag[2:].replace("-", "_"), self.number(flag, value))

    def address(self, text):
        host, _, port = text.rpartition(":")
        host = host[1:-1] if host.startswith("[") and host.endswith("]") else host
        if not host or not port.isdecimal() or not 1 <= int(port) <= 65535:
            die(2, f'--listen takes HOST:PORT with a port from 1 to 65535, not "{text}"')
        self.host, self.port = host, int(port)

    @staticmethod
    def number(flag, text):
        low = 1 if flag == "--size" else 0
        if not text.isdecimal() or not low <= int(text) <= NUMBER_MAX:
            die(2, f'{flag} takes a number from {low} to {NUMBER_MAX}, not "{text}"')
        return int(text)


def burn(ns):
    end = time.monotonic_ns() + ns
    while time.monotonic_ns() < end:
        pass


def print_all(data):
    """Writes all of data to standard output before anything else happens, as every subject does."""
    try:
        while data:
            data = data[os.write(1, data):]
    except OSError as error:
        die(1, f"cannot write to standard output: {error}")


class Server:
    """What the connections share."""

    def __init__(self, options):
        self.options = options
        self.sessions = set()
        self.reads = 0  # since the start; the drain watches it stand still
        self.draining = False

    async def drain(self, listener):
        deadline = time.monotonic() + DRAIN_S
        self.draining = True
        listener.close()
        for session in list(self.sessions):
            session.end_wait()
        reads = -1
        while self.sessions and reads != self.reads and time.monotonic() < deadline:
            reads = self.reads
            await asyncio.sleep(QUIET_S)
        for session in list(self.sessions):
            session.transport.close()  # once its echoes are written
        while self.sessions and time.monotonic() < deadline:
            await asyncio.sleep(0.001)


class Session(asyncio.BufferedProtocol):
    """One connection. It reads only while it holds no bytes: neither waiting nor unwritten ones."""

    def __init__(self, server):
        self.server = server
        self.options = server.options
        self.buffer = memoryview(bytearray(READ_MAX))
        self.transport = None
        self.part = 0  # bytes of the unfinished message
        self.held = 0  # bytes of buffer that wait
        self.timer = None  # of the wait

    def connection_made(self, transport):
        self.transport = transport
        transport.set_write_buffer_limits(high=0)  # pause_writing as soon as the peer has no room
        self.server.sessions.add(self)

    def connection_lost(self, _):
        self.end_wait()
        self.server.sessions.discard(self)

    def get_buffer(self, _):
        return self.buffer

    def buffer_updated(self, n):
        self.server.reads += 1
        messages, self.part = divmod(self.part + n, self.options.size)
        if messages and self.options.work_us:
            burn(messages * self.options.work_us * 1000)
        if messages and self.options.wait_ms and not self.server.draining:
            self.held = n
            self.transport.pause_reading()
            delay = messages * self.options.wait_ms / 1000
            self.timer = asyncio.get_running_loop().call_later(delay, self.end_wait)
        else:
            self.deliver(n)

    def end_wait(self):
        if not self.held:
            return
        self.timer.cancel()
        n, self.held = self.held, 0
        self.transport.resume_reading()
        self.deliver(n)

    def deliver(self, n):
        if self.options.echo:
            self.transport.write(bytes(self.buffer[:n]))
        else:
            print_all(self.buffer[:n])

    def pause_writing(self):
        self.transport.pause_reading()

    def resume_writing(self):
        self.transport.resume_reading()


def on_exception(loop, context):
    """Asyncio pauses accepting when descriptors run out, but reports every attempt: some thousands a second."""
    if getattr(context.get("exception"), "errno", None) not in (errno.EMFILE, errno.ENFILE):
        loop.default_exception_handler(context)


async def serve(options):
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(on_exception)
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    server = Server(options)
    try:
        listener = await loop.create_server(
            lambda: Session(server), options.host, options.port, backlog=BACKLOG, reuse_address=True)
    except OSError as error:
        die(1, f"cannot listen: {error}")
    await stop.wait()
    await server.drain(listener)


def main():
    options = Options(sys.argv[1:])
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    asyncio.run(serve(options))
    os._exit(0)  # whatever a peer that doesn't read still holds


main()
