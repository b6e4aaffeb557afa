// Package client implements an IRC client as a pure state machine: lines and times go in, bytes to
// send and events come out. It uses no goroutine, clock or socket, so a test runs a day of messages
// and reconnects in microseconds. Package link connects it to a server.
//
// # State
//
// The client keeps a [Conversation] for each room and each direct conversation: its messages in the
// server's order, each once, its members, its topic and its read marker. The caller reads them
// between two calls and must not change them.
//
// # No message is lost or duplicated
//
// The messages of a conversation have no gaps: while older messages may be missing, live ones are
// held in Conversation.held. After a (re)join the client requests CHATHISTORY AFTER the last msgid
// that it has, page by page, and then appends the held messages. Messages are identified by their
// msgid.
//
// An own message may have been sent without an echo when the connection ended. The client searches
// the history for it, by the tag +weir/n that it was sent with, or by its text if the server drops
// such tags. It sends the message again only if it is not in the history.
//
// # Limitations
//
// The client works with servers without chathistory, message-tags or echo-message. It then shows
// only the history that the server replays, and messages in flight when the connection ended may be
// lost. If committing a message takes longer than the reconnect, the message is sent twice; this
// client shows it once. SASL mechanisms are SCRAM-SHA-256, EXTERNAL, and PLAIN if Config allows it.
// There is no multiline: a long text is split into several messages. A conversation keeps its
// newest 20,000 messages. Typing notifications are ignored.
package client
