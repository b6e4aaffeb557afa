// Package client is one end of a conversation with an IRC server, as a pure state machine: lines
// and times go in, bytes to send and events come out. It holds no goroutine, clock or socket, so
// that a day of talk, losses and returns is tested in microseconds; package link connects it.
//
// # What it keeps
//
// A [Conversation] for each room and each person talked to: its messages in the server's order,
// each once, its members, topic, and how far it was read. Who draws them reads them between two
// calls; nothing else may change them.
//
// # Nothing lost, nothing doubled
//
// A conversation's messages are contiguous: whatever comes live while older ones may be missing
// waits in Conversation.later. On (re)joining, the client asks for CHATHISTORY AFTER the last msgid
// that it has, page by page, and appends what waited then; messages are known by their msgid. What
// was said and not echoed when the connection went is looked for in that history, by the tag +weir/n
// that it was sent with (or by its text, where a server drops such tags), and said again only when
// it is not there.
//
// # Limitations
//
// Servers without chathistory, message-tags or echo-message can be used, but what was missed is
// then what they replay, and what was said while the connection broke may be lost. A message whose
// commit takes longer than the reconnection is said twice; this client shows it once. SASL is
// SCRAM-SHA-256, and PLAIN where Config allows it. There is no multiline: a long text is sent in
// parts. A conversation keeps its newest 20,000 messages. What others type right now is not shown.
package client
