// Package upload stores the files that users share in a chat. Each content is stored once, under
// its SHA-256: DATA/uploads/HH/HASH, where HH are the first two digits of HASH. HASH.info beside it
// lists the uploads of this content: time, account and name (docs/protocol.md, "Files").
//
// [Store.Begin] starts an upload, which is written as data arrives. When [Upload.Commit] returns,
// the file is durable: it is written under a temporary name, synced and renamed. [Store.Open] opens
// the file of a link. [Store.Run] removes files older than Options.MaxAge.
//
// # Limits
//
// A file has at most Options.MaxBytes. In any 24 hours an account may start Options.DayFiles
// uploads with Options.DayBytes in total. Aborted uploads and uploads of content that is already
// stored count too. All files together use at most Options.MaxTotal bytes, each rounded up to whole
// blocks; then uploads are refused until a file is removed. No file is evicted for another: a file
// is removed when its last upload is older than Options.MaxAge, or by [Remove].
//
// # What a link reveals
//
// A link contains the hash and a name under which the file was uploaded. Both are needed to read
// the file, and a hash cannot be guessed. A person with the link needs nothing else: no account and
// no membership of the room. A person who has a copy of a file can compute its hash and, by
// guessing the name, test whether it was uploaded here. A file that is known except for a few
// digits can be guessed this way.
//
// # Limitations
//
// Content is stored unchanged: a photograph keeps its location data. Redacting the message with a
// link does not remove the file. If two servers have a Store open at the same time, as during an
// upgrade, each enforces the limits by the uploads that it knows. [List] and [Remove] may be called
// by any process at any time.
package upload
