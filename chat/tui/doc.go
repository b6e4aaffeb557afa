// Package tui is the chat's terminal client: rooms, what is said in them, and a line to say
// something.
//
// The [Model] is a pure function of messages and of the time that it is given: it owns a
// client.Client, which says what there is, and draws it. [Run] gives it a terminal and a connection
// (package client/link); its one goroutine is the link's, which it ends and waits for.
//
// What comes from the network is never written to the terminal as it came: a row takes text through
// Clean alone, which leaves no control character, no escape sequence and nothing that turns the
// direction of writing. Links are underlined text, and never more than that.
//
// # Limitations
//
// There is no mouse and no picture. Text that is written from right to left is shown as the
// terminal shows it. Emoji of several characters are as wide as the terminal's wcwidth says, and
// where it says otherwise a line may be a column off. /search asks the server; one that cannot
// search has it look at what is loaded. An old result is gone to by loading all that was said
// since. Bold, colours and the like in IRC messages are dropped.
package tui
