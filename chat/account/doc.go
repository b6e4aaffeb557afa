// Package account stores the accounts of a chat server: SCRAM verifiers of their passwords, roles,
// invites, bans and the read markers of their devices.
//
// # Files
//
// All of it is text in the data directory, which can be read and corrected with an editor:
// accounts, bans and invites (a line each), and marks/ACCOUNT (a line for each device and room).
// docs/protocol.md specifies the formats.
//
// A file is changed by writing a new version beside it and renaming that. The writer holds the lock
// accounts.lock (for read markers, marks/.lock). A reader needs no lock: it sees one version or the
// other. Comments and unknown keys are preserved. A damaged line is reported with its file and
// number and stays for an administrator to correct. It does not affect other lines.
//
// A running server and a command may both change the files. Every call of a Store checks with one
// stat for each file whether another process has changed it. So a new account can log in, and a
// banned one cannot, at once and without a signal. Clients that are logged in already are the
// server's task: see Store.Generation.
//
// # Secrets
//
// Passwords are stored as SCRAM-SHA-256 verifiers only (RFC 5802). A stolen file does not permit a
// login, but passwords can be guessed from it, at the cost of Options.Iterations for each guess.
// Secrets are compared in constant time. An unknown name costs as much time as a wrong password and
// gets the same answer.
//
// # Slow and fast calls
//
// Slow calls must not run on an event loop, and their number must be bounded: Plain, Register, Add
// and SetPassword (one PBKDF2 each), and all calls that change a file (fsync). Fast calls are the
// steps of Scram, External, Lookup, Banned, ReadMarker and SetReadMarker. The caller counts failed
// logins, by address and by Key.
//
// # Limitations
//
// Names are ASCII. Passwords are limited to SASLprep (RFC 4013), which excludes emoji. There is no
// channel binding (SCRAM-SHA-256-PLUS). A verifier whose iterations differ from Options.Iterations
// reveals by their number, and by its time, that its name is known, until its password is set
// again. An account has at most 32 devices. SetReadMarker does not sync to disk: a power failure
// loses some of its read markers, and messages since then are replayed again. A change that was
// refused because the folder's sync failed may be in effect after a power failure.
package account
