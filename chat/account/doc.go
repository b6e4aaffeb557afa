// Package account keeps who may use a chat server: accounts, the proof of their passwords, their
// roles, the invites that let people register, the bans, and how far each device has read each
// room.
//
// All of it is text in the data directory, which a person can read and mend with an editor:
// accounts, bans, invites (a line for each), marks/ACCOUNT (a line for each device and room).
// docs/protocol.md has the formats. A file is changed by writing it anew beside the old one and
// renaming, under the lock of accounts.lock (marks: marks/.lock), so a reader sees one version or
// the other, never half of one, and needs no lock. Comments and keys that this package does not
// know stay. A damaged line is reported with its file and number, holds nobody else up, and is left
// for a person to mend.
//
// A running server and a command may both change the files. A Store looks whether its files were
// changed by others whenever it is asked (one stat each), so a new account can log in and a banned
// one can't at once, without a signal. Who is logged in already is the server's matter: see
// Store.Generation.
//
// Passwords are stored as SCRAM-SHA-256 verifiers only: what is stolen with the file lets nobody
// in, but can be tried against guesses at the price of Options.Iterations each. All comparisons of
// secrets take constant time, and a name that nobody has costs and answers what a wrong password
// does.
//
// Slow, to be kept off event loops and bounded in number: Plain, Register, Add, SetPassword (one
// PBKDF2 each), and whatever changes a file (fsync). Quick: Scram's steps, External, Lookup,
// Banned, Mark, SetMark. Counting the attempts is the caller's, by address and by Key.
//
// Limitations: names are ASCII. Passwords are what SASLprep (RFC 4013) takes, which has no emoji.
// There is no channel binding (SCRAM-SHA-256-PLUS). A verifier with other iterations than
// Options.Iterations (brought along, or made before the setting changed) tells by them, and by its
// time, that its name is known, until its password is set again. Who holds an account can have 32
// devices. Marks that SetMark moves are not synced to disk: a power cut loses some, and messages
// since are shown again.
package account
