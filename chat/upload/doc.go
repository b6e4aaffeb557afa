// Package upload keeps the files that people share in a chat, each once, under the SHA-256 of its
// content: DATA/uploads/HH/HASH, where HH are the first two digits of HASH, and beside it
// HASH.info, which says who uploaded it when and by which name (docs/protocol.md, "Files").
//
// [Store.Begin] begins an upload, to which bytes are written as they come; [Upload.Commit] has it
// on the disk when it returns: the content is written aside, synced, and renamed. [Store.Open] is
// for who has a link. [Store.Run] removes what is too old.
//
// # Limits
//
// A file has at most Options.MaxBytes. An account may begin Options.DayFiles uploads of
// Options.DayBytes together in any 24 hours; what was begun counts, whether it came to an end or
// not, and whether it was there already or not. All files together have at most Options.Total
// bytes, each rounded up to whole blocks: when that is reached uploads are refused until something
// is removed. Nothing that somebody shared is removed for somebody else's: old files go by age
// (Options.Keep, counted from the last upload of the content), or by [Remove].
//
// # What a link gives away
//
// A link holds the hash and a name that the file was uploaded by; without both there is nothing to
// be seen, and a hash can't be guessed. But who has a link needs nothing else: neither an account,
// nor to be in the room it was said in, now or later. And who has a file himself can compute its
// hash, and ask whether it was uploaded here, if he guesses the name too. A file of which
// everything but a few digits is known can be guessed so.
//
// # Limitations
//
// Content is kept as it came: a photograph still says where it was taken. Redacting the message
// with a link leaves the file. Two servers that have a Store open at the same time, as when one
// takes the other's place, each keep the limits by what they know; [List] and [Remove] may be
// called by anybody meanwhile.
package upload
