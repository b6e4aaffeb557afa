// Package web composes web servers of components, and runs a composition as a chain of calls or as
// a process network.
//
// A [Component] takes part in answering an exchange, which a [Conn] carries. A [Source] gives it
// its body, a [Filter] changes the body, a [Pipe] looks at it, changes heads, or answers early.
// [Chain], [Branch], [When] and [Routes] compose; [New] checks the composition, runs it, and gives
// an [http.Handler]; [FromHTTP] makes a component of one. The classes are those of J. Whitehead,
// "Serving Web Content with Dynamic Process Networks in Go" (2011).
//
// # Two phases
//
// In the setup phase an exchange passes through the components: status, fields, and the body as a
// value. The setup phase is over before the first byte is sent. In the content phase the goroutine
// of the request sends what was set up, and runs streams and filters: a slow client holds up no
// component.
//
// A [Body] is bytes, a range of a file, or a stream. One that no filter changes leaves with its
// head in one write, or is sent from the file by the kernel. A filter is a writer before a writer:
// filters compose by calls, without a pipe, a copy or a goroutine each.
//
// # Early answers
//
// A component that answers does not end the exchange's way. Sources behind it are not called;
// filters and pipes are, and see its status, its fields and its body: so a log sees a refused
// request, and a page that says so can be compressed. The last answer counts.
//
// # What filters change
//
// When the head is sent, a body that filters change loses Content-Length and Accept-Ranges, and its
// entity tag becomes a weak one. Conditions (RFC 9110 section 13) and ranges (section 14) are
// decided there, for any source that sets ETag or Last-Modified: never in the source. Where a
// composition has a filter, sources do not see that a range was asked for, so that none sends a
// part that a filter would take for the whole.
//
// # Exchanges that are lost
//
// A component that panics costs its exchange, which is answered by 500; one that found no room
// before a component that blocks (see [Traits]) is answered by
//  503. These leave the composition at once: no component behind sees them, but what was registered
//     by [Conn.After] is called. An error in the content
//
// phase cuts the connection, so that the client does not take a part for the whole.
//
// # Limitations
//
// The engine is net/http, in versions 1, 2 and 3 of HTTP. A composition does not change while it
// runs; a server changes to another by changing its handler.
package web
