// Package log keeps the messages of one chat room: an append-only log in the wire format of IRC, a line a
// message. Its format, and what it promises, are in docs/protocol.md; the files can be read with less, searched
// with grep, and are shared with the chat server in C.
//
// Limitations: Linux first; it needs flock, and files that are mapped shared by several processes of one machine,
// so no network file systems.
package log
