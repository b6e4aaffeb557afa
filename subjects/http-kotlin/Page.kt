import io.ktor.http.ContentType
import io.ktor.http.HttpHeaders
import io.ktor.http.HttpMethod
import io.ktor.http.HttpStatusCode
import io.ktor.http.content.OutgoingContent
import io.ktor.http.withCharset
import io.ktor.server.application.ApplicationCall
import io.ktor.server.application.ApplicationCallPipeline
import io.ktor.server.cio.CIO
import io.ktor.server.engine.connector
import io.ktor.server.engine.embeddedServer
import io.ktor.server.request.httpMethod
import io.ktor.server.request.path
import io.ktor.server.response.header
import io.ktor.server.response.respond
import io.ktor.server.response.respondBytes
import java.io.IOException
import java.nio.file.Files
import java.nio.file.Path
import java.util.concurrent.atomic.AtomicInteger
import java.util.concurrent.atomic.AtomicLong
import kotlin.system.exitProcess
import kotlin.time.Duration
import kotlin.time.Duration.Companion.milliseconds
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.withContext
import kotlinx.coroutines.withTimeoutOrNull

// A page over HTTP by Ktor's own engine, CIO: a coroutine for each request.
//
// Limitations: what is not answered a second and a half after SIGTERM is cut off.

const val FINISHING_MS = 1300L
const val CLOSING_MS = 200L // what Ktor still writes, after the last handler has returned
const val KEEP_ALIVE_S = 75
const val NUMBER_MAX = 1_000_000_000

val html = ContentType.Text.Html.withCharset(Charsets.UTF_8)
val text = ContentType.Text.Plain.withCharset(Charsets.UTF_8)

class Options(val host: String, val port: Int, val page: Path, val sleep: Duration, val sleepEvery: Int)

class Usage(message: String) : Exception(message)

/** Ends the program with a line of why. Of two threads that call it, one does. */
@Synchronized
fun die(status: Int, message: String?): Nothing {
    System.err.println("http-kotlin: $message")
    Runtime.getRuntime().halt(status)
    exitProcess(status) // is not reached
}

fun number(flag: String, text: String, range: IntRange): Int =
    text.toIntOrNull()?.takeIf { it in range }
        ?: throw Usage("$flag takes a number from ${range.first} to ${range.last}, not \"$text\"")

fun parse(args: Array<String>): Options {
    val given = mutableMapOf("--listen" to "", "--workload" to "page", "--www" to "", "--sleep-ms" to "0", "--sleep-every" to "0")
    for (pair in args.toList().chunked(2)) {
        if (pair[0] !in given) throw Usage("unknown flag \"${pair[0]}\"")
        given[pair[0]] = pair.getOrNull(1) ?: throw Usage("${pair[0]} needs a value")
    }
    val value = { flag: String -> given.getValue(flag) }
    val colon = value("--listen").lastIndexOf(':')
    if (colon < 1) throw Usage("--listen takes HOST:PORT, not \"${value("--listen")}\"")
    if (value("--workload") != "page") throw Usage("--workload takes page, not \"${value("--workload")}\"")
    if (value("--www").isEmpty()) throw Usage("--www DIR is missing")
    return Options(
        value("--listen").substring(0, colon).removeSurrounding("[", "]"),
        number("--listen's port", value("--listen").substring(colon + 1), 1..65535),
        Path.of(value("--www"), "page.html"),
        number("--sleep-ms", value("--sleep-ms"), 0..NUMBER_MAX).milliseconds,
        number("--sleep-every", value("--sleep-every"), 0..NUMBER_MAX),
    )
}

class Page(private val options: Options) {
    private val requests = AtomicLong()
    private val stopping = CompletableDeferred<Unit>()
    private val answering = AtomicInteger()

    /** Wakes the requests that sleep, and waits for those that are being answered. */
    fun finish() {
        stopping.complete(Unit)
        val end = System.nanoTime() + FINISHING_MS * 1_000_000
        while (answering.get() > 0 && System.nanoTime() < end) Thread.sleep(2)
    }

    suspend fun answer(call: ApplicationCall) {
        answering.incrementAndGet()
        try {
            choose(call)
        } finally {
            answering.decrementAndGet()
        }
    }

    private suspend fun choose(call: ApplicationCall) {
        val method = call.request.httpMethod
        if (call.request.path() != "/" && call.request.path() != "/page.html") {
            call.respondBytes("not found\n".toByteArray(), text, HttpStatusCode.NotFound)
        } else if (method != HttpMethod.Get && method != HttpMethod.Head) {
            call.response.header(HttpHeaders.Allow, "GET, HEAD")
            call.respondBytes("method not allowed\n".toByteArray(), text, HttpStatusCode.MethodNotAllowed)
        } else {
            sleepIfDue()
            send(call, method == HttpMethod.Head)
        }
    }

    private suspend fun sleepIfDue() {
        if (options.sleepEvery > 0 && requests.incrementAndGet() % options.sleepEvery == 0L) {
            withTimeoutOrNull(options.sleep) { stopping.await() }
        }
    }

    private suspend fun send(call: ApplicationCall, headOnly: Boolean) {
        val page = try {
            withContext(Dispatchers.IO) { Files.readAllBytes(options.page) }
        } catch (e: IOException) {
            call.respondBytes("not found\n".toByteArray(), text, HttpStatusCode.NotFound)
            return
        }
        if (headOnly) call.respond(HeadOf(page)) else call.respondBytes(page, html)
    }
}

class HeadOf(page: ByteArray) : OutgoingContent.NoContent() {
    override val contentType = html
    override val contentLength = page.size.toLong()
}

fun main(args: Array<String>) {
    val options = try {
        parse(args)
    } catch (e: Usage) {
        die(2, e.message)
    }
    System.setProperty("io.ktor.server.engine.ShutdownHook", "false") // there is one below
    val page = Page(options)
    val server = embeddedServer(CIO, configure = {
        connector {
            host = options.host
            port = options.port
        }
        connectionIdleTimeoutSeconds = KEEP_ALIVE_S
        reuseAddress = true
    }) {
        intercept(ApplicationCallPipeline.Call) { page.answer(context) }
    }
    Runtime.getRuntime().addShutdownHook(Thread {
        page.finish()
        server.stop(CLOSING_MS, CLOSING_MS)
        Runtime.getRuntime().halt(0)
    })
    // Ktor binds in a coroutine, and says both here and there what went wrong.
    val cannotListen = { e: Throwable -> die(1, "cannot listen: ${generateSequence(e) { it.cause }.last().message}") }
    Thread.setDefaultUncaughtExceptionHandler { _, e -> cannotListen(e) }
    try {
        server.start(wait = true)
    } catch (e: Exception) {
        cannotListen(e)
    }
}
