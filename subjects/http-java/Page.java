import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A page over HTTP by the JDK's own server, which hands each request to a virtual thread.
 *
 * <p>Limitations: what is not answered a second after SIGTERM is cut off.
 */
final class Page {
    private static final int BACKLOG = 4096;
    private static final int FINISHING_S = 1; // how long requests that are being answered may take after SIGTERM
    private static final int NUMBER_MAX = 1_000_000_000;
    private static final String HTML = "text/html; charset=utf-8";
    private static final String TEXT = "text/plain; charset=utf-8";

    /** What the command line says. */
    private record Options(String host, int port, Path page, long sleepMs, long sleepEvery) {}

    private final Options options;
    private final HttpServer server;
    private final AtomicLong requests = new AtomicLong();
    private final CountDownLatch stopping = new CountDownLatch(1); // opened once, by stop

    private Page(Options options) throws IOException {
        this.options = options;
        server = HttpServer.create(
                new InetSocketAddress(InetAddress.getByName(options.host), options.port), BACKLOG);
        server.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
        server.createContext("/", this::handle);
    }

    private static void die(int status, String message) {
        System.err.println("http-java: " + message);
        Runtime.getRuntime().halt(status);
    }

    private void handle(HttpExchange exchange) throws IOException {
        try (exchange) {
            String path = exchange.getRequestURI().getPath();
            String method = exchange.getRequestMethod();
            if (!"/".equals(path) && !"/page.html".equals(path)) {
                say(exchange, 404, TEXT, "not found\n".getBytes(StandardCharsets.UTF_8));
            } else if (!method.equals("GET") && !method.equals("HEAD")) {
                exchange.getResponseHeaders().set("Allow", "GET, HEAD");
                say(exchange, 405, TEXT, "method not allowed\n".getBytes(StandardCharsets.UTF_8));
            } else {
                sleepIfDue();
                sendPage(exchange);
            }
        }
    }

    private void sendPage(HttpExchange exchange) throws IOException {
        try {
            say(exchange, 200, HTML, Files.readAllBytes(options.page));
        } catch (NoSuchFileException e) {
            say(exchange, 404, TEXT, "not found\n".getBytes(StandardCharsets.UTF_8));
        }
    }

    private static void say(HttpExchange exchange, int status, String type, byte[] body) throws IOException {
        exchange.getResponseHeaders().set("Content-Type", type);
        if (exchange.getRequestMethod().equals("HEAD")) {
            exchange.getResponseHeaders().set("Content-Length", Integer.toString(body.length));
            exchange.sendResponseHeaders(status, -1);
            return;
        }
        exchange.sendResponseHeaders(status, body.length);
        exchange.getResponseBody().write(body);
    }

    private void sleepIfDue() {
        if (options.sleepEvery == 0 || requests.incrementAndGet() % options.sleepEvery != 0) {
            return;
        }
        try {
            stopping.await(options.sleepMs, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            throw new AssertionError("nobody interrupts a request", e);
        }
    }

    /** Runs as the JVM's shutdown hook, which is how it is told of SIGTERM and SIGINT. */
    private void stop() {
        stopping.countDown();
        server.stop(FINISHING_S);
        Runtime.getRuntime().halt(0);
    }

    private static long number(String flag, String text, int low, int high) {
        try {
            long n = Long.parseLong(text);
            if (n >= low && n <= high) {
                return n;
            }
        } catch (NumberFormatException e) {
            // said below
        }
        throw new IllegalArgumentException(
                "%s takes a number from %d to %d, not \"%s\"".formatted(flag, low, high, text));
    }

    private static Options parse(String[] args) {
        var given = new HashMap<>(Map.of(
                "--listen", "", "--workload", "page", "--www", "", "--sleep-ms", "0", "--sleep-every", "0"));
        for (int i = 0; i < args.length; i += 2) {
            if (!given.containsKey(args[i])) {
                throw new IllegalArgumentException("unknown flag \"" + args[i] + "\"");
            }
            if (i + 1 == args.length) {
                throw new IllegalArgumentException(args[i] + " needs a value");
            }
            given.put(args[i], args[i + 1]);
        }
        String listen = given.get("--listen");
        int colon = listen.lastIndexOf(':');
        if (colon < 1) {
            throw new IllegalArgumentException("--listen takes HOST:PORT, not \"" + listen + "\"");
        }
        if (!given.get("--workload").equals("page")) {
            throw new IllegalArgumentException("--workload takes page, not \"" + given.get("--workload") + "\"");
        }
        if (given.get("--www").isEmpty()) {
            throw new IllegalArgumentException("--www DIR is missing");
        }
        return new Options(
                listen.substring(0, colon).replaceAll("^\\[(.*)\\]$", "$1"),
                (int) number("--listen's port", listen.substring(colon + 1), 1, 65535),
                Path.of(given.get("--www"), "page.html"),
                number("--sleep-ms", given.get("--sleep-ms"), 0, NUMBER_MAX),
                number("--sleep-every", given.get("--sleep-every"), 0, NUMBER_MAX));
    }

    public static void main(String[] args) {
        // The server's own defaults would close idle connections beyond 200, and wait to fill a segment.
        System.setProperty("sun.net.httpserver.nodelay", "true");
        System.setProperty("sun.net.httpserver.maxIdleConnections", "100000");
        System.setProperty("sun.net.httpserver.idleInterval", "75");
        try {
            var page = new Page(parse(args));
            Runtime.getRuntime().addShutdownHook(new Thread(page::stop));
            page.server.start();
        } catch (IllegalArgumentException e) {
            die(2, e.getMessage());
        } catch (IOException e) {
            die(1, "cannot listen: " + e.getMessage());
        }
    }
}
