// Package events has sources that keep talking to a client: [WebSocket] both ways (RFC 6455, by
// github.com/coder/websocket), and [SSE] from here to there (server-sent events, section 9.2 of the
// HTML standard). [Echo] and [Watch] are two that are ready for use.
//
// A function of the user's own does the talking. It runs in the content phase, in the goroutine of
// the request, so it takes nobody's place while responses are set up: the components declare no
// Width. MaxOpen bounds how many talk at once; beyond, clients are answered by 503.
//
// The components implement [io.Closer]. Close is the graceful end: WebSockets are closed with
// status 1001, which has browsers come again, event streams end after the event that is being
// written, and the context of each function ends. The stop of a server of package web/server does
// the same, as does the end of the context that a server gives requests
// ([http.Server.BaseContext]).
//
// # Limitations
//
// WebSockets are HTTP/1.1 only, and what passes is not compressed. A function that never reads gets
// no answers to pings: it calls CloseRead first. Watch looks at a folder again and again, once for
// each client, and is meant for development.
package events
