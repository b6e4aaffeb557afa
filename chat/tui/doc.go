// Package tui is the chat's terminal client: a list of rooms, the messages of the current one, and
// an input line.
//
// The [Model] is a pure function of messages and the time: it owns a client.Client, which holds the
// state, and draws it. [Run] connects it to a terminal and a server (package client/link). Run's
// only goroutines are the link and uploads, and it waits for them.
//
// Text from the network is never written to the terminal unchanged. Every row passes its text
// through Clean, which removes control characters, escape sequences and characters that change the
// direction of text. Links are underlined text without an escape sequence for hyperlinks.
//
// # Limitations
//
// There is no mouse and no picture. Right-to-left text is displayed as the terminal displays it.
// The width of a multi-character emoji is taken from wcwidth; if the terminal differs, a row may be
// misaligned by a column. /search asks the server; if the server does not support search, it
// searches the loaded messages. Opening an old result loads all messages since then. Bold, colours
// and other IRC formatting is removed.
package tui
