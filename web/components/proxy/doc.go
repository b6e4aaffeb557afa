// Package proxy is a reverse proxy: a source whose responses come from other servers, its
// upstreams.
//
// The goroutine that serves an exchange sends the request to an upstream by HTTP/1.1 and reads the
// response. [httputil.ReverseProxy] is used where that does not suffice: for WebSockets, for
// requests with content that is not buffered, and where an upstream is used over TLS.
//
// The set-up of a response waits for an upstream's header, so the component blocks. Width exchanges
// may wait for upstreams, Queue more may wait for a place, and further ones are answered by 503.
//
// The request's goroutine copies the body in the content phase. Streams (a body of unknown length,
// text/event-stream) are flushed after each read, through all filters. WebSockets, trailers and
// informational responses (103) are passed on.
//
// # Load balancing
//
// [Config.Policy] selects an upstream: round robin, the one with the fewest exchanges in progress,
// or a hash of the client. The hash is rendezvous hashing: when an upstream fails, only its own
// clients move.
//
// With [Config.Weights], an upstream gets its share: of the turns, evenly spread; of the exchanges
// in progress; or of the clients. An upstream of weight 0 gets none. A share is of the upstreams
// that are available at the time.
//
// An upstream that fails MaxFails times in a row is suspended for a while (passive health check).
// If all are suspended, they are tried nevertheless. An upstream that fails its active health
// checks gets no requests until it passes them again.
//
// # Retries
//
// A failed request is tried on other upstreams in two cases. Either no connection was made, so that
// no upstream can have acted on it. Or its method is idempotent (RFC 9110, section 9.2.2) and its
// body was buffered, which bodies of a stated length up to 64 KB are. There is no retry after the
// first byte of a response, informational ones included.
//
// # Fields and paths
//
// Hop-by-hop fields are removed, and so is every Upgrade except to WebSocket, because components
// could not inspect other protocols. The proxy sets X-Forwarded-For, -Host and -Proto. The client's
// values of these, of Forwarded, X-Real-Ip and other X-Forwarded fields count only from trusted
// proxies.
//
// The request is serialized anew, so that ambiguous framing does not reach an upstream. With
// HTTP/1, a client's connection is closed after a request whose body was not buffered, because an
// upstream may answer before the body was read to its end.
//
// Upstreams receive the canonical path: unreserved characters decoded, empty and dot segments
// resolved. With RawPath they receive it as the client escaped it, and paths that they might
// resolve differently are answered by 400. A request without a host is answered by 400 unless Host
// is set: no other name is substituted.
//
// Response fields of the upstream replace those that earlier components have set; Vary and
// Set-Cookie are added to.
//
// # Errors
//
// Error responses are short, and [web.Conn.Err] has the reason. 502: the upstream cannot be reached
// or its response is invalid. 504: it is too slow. 503: no upstream is available. 400: the path or
// host cannot be sent on, or the request's body was incomplete. 413: the body is too large. 501:
// CONNECT.
//
// An exchange whose client disconnected has the status 499, which no client receives. An incomplete
// response closes the client's connection. [web.Upstream] names the upstream that sent the
// response.
//
// # Idle connections
//
// A response's body is aborted, and the upstream's connection closed, when no data arrive for
// IdleTimeout while the proxy reads. A request is aborted when the upstream accepts no data of its
// body for IdleTimeout, unless its response has begun. A piece of up to 32 KB must be accepted in
// that time.
//
// The total duration is not limited here, nor is the client's speed: the server limits that.
// WebSockets and text/event-stream may be idle for any time. They end with the client, with the
// upstream (TCP keep-alive detects a lost one), or when the server stops. A long poll of another
// type needs an IdleTimeout longer than its wait.
//
// # Limitations
//
// Upstreams are used by HTTP/1.1, and over TLS by HTTP/2 if they offer it. The proxy sets no cookie
// for session affinity; the hash policy can use an existing one. A field that the client names in
// Connection is not passed on, even if an earlier component has set it. HTTP/1.1 connections are
// kept for requests without content or with a stated length of up to 64 KiB, to upstreams without
// TLS. All other HTTP/1.1 exchanges, WebSockets among them, have connections of their own; those
// over TLS resume sessions.
package proxy
