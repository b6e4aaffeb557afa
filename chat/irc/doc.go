// Package irc is the protocol of the chat as a pure function: bytes to lines and messages,
// capabilities, names, modes, requests for history, and the encoding of what is sent for what a
// client understands. It follows modern.ircdocs.horse and the specifications of ircv3.net; lines
// are parsed by ergochat/irc-go.
//
// It holds no connection, no clock and no lock: the time is an argument, and who calls owns what is
// passed. What a message does to rooms and users is package chat's.
//
// # Limitations
//
// Casemapping is ascii. Nicks are ASCII, room names any UTF-8 without control characters. A
// client's line has at most 512 bytes and 4,096 of tags before it; what is sent to others is not
// cut to 512 bytes, so that a source of 60 bytes costs nobody the end of a message.
package irc
