// Package proxy answers exchanges by the responses of other servers, its upstreams: a reverse proxy
// on [httputil.ReverseProxy].
//
// The set-up of a response waits for an upstream's head, so the component blocks: of what comes at
// once, Width exchanges wait for upstreams, Queue wait for that, and the rest is refused with 503.
// The body is copied in the content phase, by the goroutine of the request. What streams (a body of
// unknown length, text/event-stream) is flushed at each read, through all filters. WebSockets,
// trailers and informational responses (103) pass.
//
// # Which upstream
//
// A [Config] says by what policy: in turn, the one with the fewest exchanges under way, or by a
// hash of the client (rendezvous hashing: when an upstream goes, only its own clients move). One
// that fails MaxFails times in a row is put aside for a while; where all are put aside, they are
// tried all the same. One that fails its health checks gets nothing until it passes them again.
//
// A request that failed is tried on other upstreams when nothing can have been done by it (no
// connection was made), or when its method is idempotent (RFC 9110 section 9.2.2) and its body, if
// any, was kept: one of a stated length up to 64 KB is. After the first byte of a response,
// informational ones included, nothing is tried again.
//
// # What upstreams and clients see
//
// Hop-by-hop fields end here, and so does every Upgrade but to WebSocket: what another protocol
// carries would pass unseen. X-Forwarded-For, -Host and -Proto are made here; what the client wrote
// there, or in Forwarded, X-Real-Ip and any other X-Forwarded field, counts only from trusted
// proxies. The request is written anew, so that framing which net/http understood in its way
// reaches no upstream as it came; and by HTTP/1 a client's connection ends behind a request whose
// body was not kept, because an upstream may answer before all of it was looked at.
//
// Upstreams are asked for the canonical path (unreserved characters decoded, empty and dot segments
// resolved). With RawPath they get it as the client escaped it, and 400 answers what they might
// resolve in another way than the routes before. A request without a host is answered by 400 unless
// Host is set: no other name is put in its place.
//
// Of the fields of the response that earlier components have set, those that the upstream sets too
// are replaced; Vary and Set-Cookie are added to.
//
// Errors are short answers, and the reason is [web.Conn.Err]: 502 for an upstream that can't be
// reached or makes no sense, 504 for one that is too slow, 503 when there is none to ask, 400 for a
// path or host that cannot be sent on, 400 and 413 for a request body that breaks off or is too
// large, 501 for CONNECT. An exchange whose client has gone meanwhile has the status 499, which
// nobody receives. A response that breaks off cuts the client's connection. [web.Upstream] names
// the upstream whose response it is.
//
// # Silence
//
// A response's body of which nothing comes for IdleTimeout while it is waited for breaks off, and
// the upstream's connection is closed. An upstream that takes nothing of a request's body for
// IdleTimeout is given up in the same way, unless it has begun to answer: it may read later then. A
// piece of up to 32 KB must be taken in that time. How long the whole takes is free, and so is how
// long the client takes: that is the server's to limit. WebSockets and text/event-stream are silent
// when they have nothing to say, and have no such limit: they end with the client, with the
// upstream (TCP's keep-alive finds one that is no longer there), or when the server stops. A long
// poll of another type needs an IdleTimeout longer than its silence.
//
// # Limitations
//
// Upstreams are asked by HTTP/1.1, and over TLS by HTTP/2 if they offer it. No cookie is set to
// keep a client at an upstream: the hash takes one that is there. A field that the client names in
// Connection goes no further, even if an earlier component has set it.
package proxy
