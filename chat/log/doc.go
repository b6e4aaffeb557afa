// Package log keeps the messages of one chat room: an append-only log in the wire format of IRC, a
// line a message, in segments of some megabytes. docs/protocol.md says what the files are and what
// is promised; the chat server in C reads and writes the same ones.
//
// A Log is a room's folder, open. Append stores a batch and returns when the disk has it; nobody is
// shown a line before. Lines are found by their offset, which is part of their msgid: At, After,
// Latest, Seek and, for long ranges, Stream. Redact takes a message's text away and leaves its
// place; Retain removes what is old; Inspect and Repair are for what should not happen.
//
// # Several at once
//
// Any number of goroutines may read a Log. Those that change it wait for one another. Other
// processes may do all of it with the same folder at the same time, each with a Log of its own: a
// batch is written under one lock of the file system and synced under another, so that whoever
// syncs does it for everybody who wrote before. Readers take no lock. They stop at the offset up to
// which everything is on the disk.
//
// # When things go wrong
//
// A process may be killed at any moment: what it had acknowledged is there, and the next one that
// opens the room, or has it open, cuts what is torn. A disk that is full or fails refuses batches,
// with ErrFull or ErrFailing, and goes on to serve reads; every further Append tries again.
// Recovery says what was found.
//
// # Limitations
//
// Linux first; FreeBSD and macOS are built for and not measured. Files are locked by flock and
// mapped shared, so all processes must be of one machine, and network file systems will not do. The
// file "committed" must not be made shorter while it is mapped: that is a fault at the next look. A
// full disk under a file system that copies on write can make storing into it fail, which refuses
// the batch. Lines hold no NUL, CR or LF, and 16 KiB at most. A batch that was refused may come
// back to life if the disk also refused to take it back and the process died before it could try
// again. Against a loss of power the log is as good as the disk's own sync.
package log
