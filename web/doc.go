// Package web composes web servers of components. It runs a composition as a chain of calls or as a
// process network.
//
// A [Component] takes part in answering an exchange: one request with its response, carried by a
// [Conn]. There are three classes of components:
//
//   - a [Source] gives the exchange its body;
//   - a [Filter] changes the body;
//   - a [Pipe] inspects the exchange, changes header fields, or answers early.
//
// [Chain], [Branch], [When] and [Routes] compose components. [New] checks the composition, runs it,
// and returns an [http.Handler]. [FromHTTP] makes a component of an http.Handler. The classes are
// those of J. Whitehead, "Serving Web Content with Dynamic Process Networks in Go" (2011).
//
// # Two phases
//
// In the setup phase an exchange passes through the components, which set status, header fields and
// the body as a value. The setup phase ends before the first byte is sent. In the content phase the
// request's goroutine sends the response and runs streams and filters, so a slow client blocks no
// component.
//
// A [Body] is bytes, a section of a file, or a stream. A body that no filter changes is sent with
// its head in one write, or by the kernel from the file (sendfile). A filter is a writer in front
// of a writer: filters need no pipe, copy or goroutine each.
//
// # Early answers
//
// After a component has answered, the exchange still passes through the remaining components.
// Sources are not called. Filters and pipes are called, and see the status, fields and body of the
// answer: an access log records a rejected request, and an error page can be compressed. The last
// answer counts.
//
// # Fields that filters invalidate
//
// A body that filters change loses Content-Length and Accept-Ranges, and its entity tag becomes
// weak. This happens when the head is sent. Preconditions (RFC 9110, section 13) and ranges
// (section 14) are evaluated there too, for any source that sets ETag or Last-Modified; sources do
// not evaluate them. In a composition with a filter, sources do not see the Range field: a filter
// would take a partial body for the whole one.
//
// # Failed exchanges
//
// If a component panics, its exchange is answered by 500. If a component that blocks has no room
// (see [Traits]), the exchange is answered by 503. Such an exchange leaves the composition at once:
// the remaining components do not see it, but functions registered by [Conn.After] are called. An
// error in the content phase closes the connection, so that the client sees a truncated body as
// truncated.
//
// # Limitations
//
// A composition does not change while it runs; a server switches to another composition by
// switching its handler. HTTP/2 and HTTP/3 run in goroutines, whatever the model of HTTP/1: see
// package web/server.
package web
