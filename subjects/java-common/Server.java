import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;

/**
 * A thread per connection, virtual or of the platform (--threads), with the same blocking code.
 *
 * <p>Limitations: a slow reader of standard output holds up its carrier threads, so in the end everybody.
 */
final class Server {
    private static final int BACKLOG = 4096;
    private static final int READ_MAX = 4096; // bytes a read may return
    private static final int STACK_BYTES = 256 * 1024; // of a platform thread
    private static final int ACCEPT_PAUSE_MS = 50; // rest when out of descriptors or threads
    private static final int DRAIN_MS = 1000;
    private static final int NUMBER_MAX = 1_000_000_000;

    /** What the command line says. */
    private record Options(
            String host, int port, boolean echo, int size, long workUs, long waitMs, boolean virtual) {}

    /** Written to without a buffer: one call of write for each read. */
    private static final FileOutputStream OUT = new FileOutputStream(FileDescriptor.out);

    private final Options options;
    private final ServerSocket listener;
    private final ThreadFactory threads;
    private final Set<Session> sessions = ConcurrentHashMap.newKeySet();
    private final CountDownLatch stopping = new CountDownLatch(1); // opened once, by drain

    private Server(Options options) throws IOException {
        this.options = options;
        this.listener = new ServerSocket();
        this.threads = options.virtual
                ? Thread.ofVirtual().factory()
                : Thread.ofPlatform().daemon().stackSize(STACK_BYTES).factory();
        listener.setReuseAddress(true);
        listener.bind(new InetSocketAddress(InetAddress.getByName(options.host), options.port), BACKLOG);
    }

    private static void die(int status, String message) {
        System.err.println("java: " + message);
        Runtime.getRuntime().halt(status);
    }

    private boolean draining() {
        return stopping.getCount() == 0;
    }

    private void acceptAll() throws InterruptedException {
        while (!draining()) {
            try {
                start(listener.accept());
            } catch (IOException e) {
                stopping.await(ACCEPT_PAUSE_MS, TimeUnit.MILLISECONDS);
            }
        }
    }

    private void start(Socket socket) throws InterruptedException {
        var session = new Session(socket);
        sessions.add(session);
        while (true) {
            try {
                threads.newThread(session).start();
                return;
            } catch (OutOfMemoryError e) { // no thread to be had: until some end
                stopping.await(ACCEPT_PAUSE_MS, TimeUnit.MILLISECONDS);
            }
        }
    }

    /** One connection; run by its own thread, which owns all but socket. */
    private final class Session implements Runnable {
        private final Socket socket;
        private final byte[] data = new byte[READ_MAX];
        private int part; // bytes of the unfinished message

        Session(Socket socket) {
            this.socket = socket;
        }

        @Override
        public void run() {
            try (socket) {
                socket.setTcpNoDelay(true);
                serve();
            } catch (IOException e) {
                // A reset: it ends this connection only.
            } catch (InterruptedException e) {
                throw new AssertionError("nobody interrupts a session", e);
            } finally {
                sessions.remove(this);
            }
        }

        private void serve() throws IOException, InterruptedException {
            var in = socket.getInputStream();
            var out = socket.getOutputStream();
            for (int n = in.read(data); n >= 0; n = in.read(data)) {
                handle(n);
                if (options.echo) {
                    out.write(data, 0, n);
                } else {
                    print(n);
                }
            }
        }

        private void handle(int n) throws InterruptedException {
            long bytes = (long) part + n;
            long messages = bytes / options.size;
            part = (int) (bytes % options.size);
            if (messages > 0 && options.workUs > 0) {
                burn(messages * options.workUs * 1000);
            }
            if (messages > 0 && options.waitMs > 0) {
                stopping.await(messages * options.waitMs, TimeUnit.MILLISECONDS);
            }
        }

        private void print(int n) {
            try {
                OUT.write(data, 0, n);
            } catch (IOException e) {
                die(1, "cannot write to standard output: " + e.getMessage());
            }
        }

        /** Stops reading, once all that has arrived is read. What a read took already is still handled. */
        void finish() {
            try {
                if (socket.getInputStream().available() == 0) {
                    socket.shutdownInput(); // ends the read that waits
                }
            } catch (IOException e) {
                // finished before, or closed in the meantime
            }
        }
    }

    private static void burn(long ns) {
        long end = System.nanoTime() + ns;
        while (System.nanoTime() < end) {
            Thread.onSpinWait();
        }
    }

    /** Runs as the JVM's shutdown hook, which is how it is told of SIGTERM and SIGINT. */
    private void drain() {
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(DRAIN_MS);
        stopping.countDown();
        try {
            listener.close();
            while (!sessions.isEmpty() && System.nanoTime() < deadline) {
                sessions.forEach(Session::finish);
                Thread.sleep(1);
            }
        } catch (IOException | InterruptedException e) {
            die(1, "cannot drain: " + e);
        }
        Runtime.getRuntime().halt(0);
    }

    private static long number(String flag, String text, int low) {
        try {
            long n = Long.parseLong(text);
            if (n >= low && n <= NUMBER_MAX) {
                return n;
            }
        } catch (NumberFormatException e) {
            // said below
        }
        throw new IllegalArgumentException(
                "%s takes a number from %d to %d, not \"%s\"".formatted(flag, low, NUMBER_MAX, text));
    }

    private static boolean oneOf(String flag, String text, String yes, String no) {
        if (!text.equals(yes) && !text.equals(no)) {
            throw new IllegalArgumentException("%s takes %s or %s, not \"%s\"".formatted(flag, no, yes, text));
        }
        return text.equals(yes);
    }

    private static String known(String flag) {
        return switch (flag) {
            case "--listen", "--workload", "--size", "--work-us", "--wait-ms", "--threads" -> flag;
            default -> throw new IllegalArgumentException("unknown flag \"" + flag + "\"");
        };
    }

    private static Options parse(String[] args) {
        var given = new HashMap<>(Map.of(
                "--workload", "sink", "--size", "1000", "--work-us", "0", "--wait-ms", "0", "--threads", "virtual"));
        for (int i = 0; i < args.length; i += 2) {
            known(args[i]);
            if (i + 1 == args.length) {
                throw new IllegalArgumentException(args[i] + " needs a value");
            }
            given.put(args[i], args[i + 1]);
        }
        String listen = given.getOrDefault("--listen", "");
        int colon = listen.lastIndexOf(':');
        if (colon < 1) {
            throw new IllegalArgumentException("--listen takes HOST:PORT, not \"" + listen + "\"");
        }
        long port = number("--listen's port", listen.substring(colon + 1), 1);
        if (port > 65535) {
            throw new IllegalArgumentException("--listen takes a port up to 65535, not " + port);
        }
        return new Options(
                listen.substring(0, colon).replaceAll("^\\[(.*)\\]$", "$1"),
                (int) port,
                oneOf("--workload", given.get("--workload"), "echo", "sink"),
                (int) number("--size", given.get("--size"), 1),
                number("--work-us", given.get("--work-us"), 0),
                number("--wait-ms", given.get("--wait-ms"), 0),
                oneOf("--threads", given.get("--threads"), "virtual", "platform"));
    }

    public static void main(String[] args) throws InterruptedException {
        try {
            var server = new Server(parse(args));
            Runtime.getRuntime().addShutdownHook(new Thread(server::drain));
            server.acceptAll();
            Thread.currentThread().join(); // the shutdown hook ends the process
        } catch (IllegalArgumentException e) {
            die(2, e.getMessage());
        } catch (IOException e) {
            die(1, "cannot listen: " + e.getMessage());
        }
    }
}
