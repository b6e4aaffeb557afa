// Package server serves any http.Handler over any net.Listener, with net/http as the engine, and is
// safe to put on the open Internet as it comes: it is strict about HTTP/1's framing (web/http1),
// drops clients that are slow on purpose, bounds heads and connections, and stops without cutting
// off what is being answered.
//
// New listens, Run serves until its context ends. SetHandler puts another handler in place while
// connections stay, WebSockets included: a reload.
//
// A stop goes in this order, all within Drain: no connection is accepted any more; those that are
// idle, or on which nothing came yet, end; requests that are being answered are finished, and
// answers that have no end of their own are told by a channel that their context holds; whoever
// took a connection over (a WebSocket) sees its request's context end and is waited for. What is
// left then is cut off.
//
// Goroutines: Run owns one that watches for slow clients, one for each engine (HTTP/1, HTTP/2,
// HTTP/3), and with TLS one that accepts and one for each handshake; all have ended when Run
// returns. net/http has one for each connection, which ends with it; certmagic obtains and renews
// in some of its own, which the end of Run's context ends.
//
// # Limitations
//
//   - HTTP/2 and HTTP/3 are the libraries', heads and framing included. HTTP/3 connections do not
//     count against MaxConns.
//   - ACME answers the TLS-ALPN-01 challenge only: it needs port 443 of the name's address to lead
//     here.
//   - A handler that never ends is left running when Drain is over; its connection is closed.
//   - Who takes a connection over without an Upgrade field or CONNECT in the request is not told of
//     a stop, only waited for.
//   - Times are judged once a tick, an eighth of the shortest of them, and at most a second.
package server
