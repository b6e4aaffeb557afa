// Package server serves an http.Handler over a net.Listener. Its engine of HTTP/1 is net/http or
// the module's own, which runs by a concurrency model of package serve (Config.Engine,
// Config.Model). Its defaults are safe on the open Internet: it is strict about the framing of
// HTTP/1 (web/http1), closes connections of clients that are slow on purpose (slowloris), limits
// heads and connections, and shuts down gracefully.
//
// The function Run serves a handler in one call. New listens, and the method Run serves until its
// context ends. SetHandler replaces the handler while connections stay open, WebSockets included: a
// reload. All functions and methods may be called from any goroutine; Server.Run may be called
// once.
//
// Graceful shutdown has these steps, all within DrainTimeout:
//
//  1. The server accepts no more connections.
//  2. Connections that are idle, or on which no byte has arrived yet, are closed.
//  3. Requests in progress complete. A channel in their context signals the shutdown to responses
//     that have no end of their own. For a connection that was taken over (a WebSocket), the
//     request's context ends, and the server waits for the connection's end.
//  4. The remaining connections are closed.
//
// Goroutines: Run owns one that watches for slow clients and one for each engine (HTTP/1, HTTP/2,
// HTTP/3). With TLS it also owns one that accepts, and one for each handshake. All of them have
// ended when Run returns. net/http runs one for each connection, which ends with it. certmagic
// obtains and renews certificates in goroutines of its own, which end with Run's context.
//
// # Limitations
//
//   - The libraries implement HTTP/2 and HTTP/3, with their heads and framing.
//   - ACME answers the TLS-ALPN-01 challenge only: port 443 of the name's address must lead here.
//   - A handler that never returns keeps running after DrainTimeout; its connection is closed.
//   - A handler that takes a connection over without an Upgrade field or CONNECT in the request is
//     not notified of shutdown; the server only waits for it.
//   - Timeouts are checked once a tick: an eighth of the shortest one, and at most a second.
package server
