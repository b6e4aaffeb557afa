// Package log stores the messages of one chat room durably: an append-only log in IRC's wire
// format, one message a line, in segments of some megabytes. docs/protocol.md specifies the files
// and the guarantees. The chat server in C (c/chatd) reads and writes the same files.
//
// A Log is the open folder of a room. Append stores a batch and returns when it is on disk. No
// reader sees a line earlier. Lines are found by their offset, which is part of their msgid: At,
// After, Latest, Seek and, for long ranges, Stream. Redact removes the text of a message and keeps
// its place. Retain removes old messages. Inspect and Repair handle damage.
//
// # Concurrency
//
// Any number of goroutines may read a Log. Calls that change it run one after another. Other
// processes may do the same with the same folder at the same time, each with a Log of its own. A
// batch is written under one file lock and synced under another, so one sync covers all batches
// written before it (group commit). Readers take no lock. They stop at COMMITTED, the offset before
// which everything is on disk.
//
// # Padding
//
// The last segment of a busy room has zeros behind its lines, at most 64 KiB, which later lines
// overwrite: a sync is cheaper when the file does not become longer. They are no part of the log,
// and Close cuts them. A copy of the folder may have them, too. A program that copies the folder
// while a server writes may copy zeros in the place of lines, and later lines behind them: package
// backup does not.
//
// # Failures
//
// A process may be killed at any moment. Acknowledged messages are stored, and the next process
// that opens or uses the room cuts the torn tail. A full or failing disk refuses batches, with
// ErrFull or ErrFailing. Reads continue to work, and every further Append tries again. Recovery
// returns what was found.
//
// # Limitations
//
// Linux is supported; FreeBSD and macOS are compiled but not measured. Files are locked by flock
// and mapped shared, so all processes run on one machine, and network file systems do not work. The
// file "committed" must not be truncated while it is mapped: the next access would be a fault. On a
// full file system that copies on write, storing into the mapping can fail, which refuses the
// batch. Lines have no NUL, CR or LF, and at most 16 KiB. A refused batch may reappear if the
// process died or the power failed before it was cut durably, or if the disk refused to cut it and
// another process restored the room. After a power failure the log is as
// good as the disk's own sync.
package log
