// Package events has sources for long-lived connections: [WebSocket] in both directions (RFC 6455,
// by github.com/coder/websocket), and [SSE] from server to client (server-sent events, section 9.2
// of the HTML standard). [Echo] and [Watch] are ready for use.
//
// A function of the program does the talking. It runs in the content phase, in the request's
// goroutine, so it does not delay the setup of other responses: the components declare no Width.
// MaxOpen limits the connected clients; further ones are answered by 503.
//
// The components implement [io.Closer]. Close is the graceful end. WebSockets are closed with
// status 1001, on which browsers reconnect. Event streams end after the event that is being
// written, and the context of each function ends. Shutdown of a server of package web/server does
// the same, as does the end of the context that a server gives requests
// ([http.Server.BaseContext]).
//
// # Limitations
//
// WebSockets are HTTP/1.1 only, without compression. A function that never reads gets no answers to
// pings: it must call CloseRead first. Watch scans the folder once per interval for each client,
// and is meant for development.
package events
