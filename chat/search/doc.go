// Package search finds messages by their words. It keeps a full-text index beside the logs,
// DATA/index/search.db (SQLite with FTS5). The index holds nothing that the logs do not: it can be
// deleted at any time and is rebuilt.
//
// Update indexes all committed messages, starting where the last update stopped. IndexRooms indexes
// one batch of each given room, IndexAll one batch of every room, and Run updates periodically.
// With Pause set, the index pauses after each batch. Indexing takes no lock of a room. Several
// processes may update and search concurrently: each batch is one transaction that starts where the
// last one ended. Redacted text and messages that retention removed are deleted from the index, and
// from the pages of its file (secure_delete), by the next Update.
//
// Find reads every match again from its log before it returns it, so a message that is no longer in
// the log is never shown. If Options.Lagging names a room, Find also reads the end of its log that
// is not indexed yet. A filter skips lines that lack a word. A temporary index in memory then
// decides which of the remaining lines match, so indexed and unindexed messages match by the same
// rules.
//
// A query in a client's search box:
//
//	harbour boat                both words, in any order, ignoring case and accents
//	"blue boat"                 a phrase: these words in this order
//	sail*                       words that start with sail
//	-engine                     not this word
//	from:ann in:#family after:2026-11-01 before:2026-11-21
//
// A client sends the same as attributes of IRC's SEARCH command: see ParseAttributes.
//
// Limitations: a word is a sequence of Unicode letters and digits, so a language without blanks
// between words is matched only by whole runs of letters. There is no stemming and no ranking:
// results are ordered by time, newest first. While an index is being rebuilt, a search returns the
// messages indexed so far.
package search
