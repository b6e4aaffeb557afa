// Package irc implements the IRC protocol of the chat as pure functions: lines and messages,
// capabilities, names, modes, history requests, and the encoding of lines for a client's
// capabilities. It follows https://modern.ircdocs.horse and https://ircv3.net. Lines are parsed by
// ergochat/irc-go.
//
// It has no connection, no clock and no lock: the time is an argument, and the caller owns all
// values. The effect of a message on rooms and users is in package chat.
//
// # Limitations
//
// CASEMAPPING is ascii. Nicks are ASCII, channel names any UTF-8 without control characters. A
// client's line has at most 512 bytes, and 4,096 bytes of tags before it. A line to clients is not
// cut to 512 bytes: a long source does not truncate the text.
package irc
