// Package frame reads and writes frames of WebSocket (RFC 6455, section 5) for a client that tests
// servers.
//
// A Parser is a state machine: its input is bytes of the server, its output pieces of messages and
// control frames. It has no connection and no clock, and keeps nothing but control frames, which
// have at most 125 bytes. The caller may split the stream anywhere.
//
// # Limitations
//
// No extensions: their bits are errors. Text is not checked for valid UTF-8: a caller that knows
// what it expects compares it.
package frame
