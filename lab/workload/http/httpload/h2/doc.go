// Package h2 is the client's end of an HTTP/2 connection (RFC 9113), for a client that loads and
// tests servers.
//
// A Conn is a state machine: its input is requests and bytes, its output bytes and events. It has
// no connection, no clock and no goroutine. The caller may split the stream of bytes anywhere.
//
// The receive windows are kept open, so that the server never waits for the client. Bodies of
// requests obey the server's windows. SETTINGS and PING are answered. Malformed frames and
// responses are errors, also those that browsers tolerate.
//
// # Limitations
//
// No server push, no priorities, and no CONNECT. Of a response only the fields that frame it or
// encode its body are kept, and of the fields that end it the status of gRPC.
package h2
