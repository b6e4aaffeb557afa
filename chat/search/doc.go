// Package search finds messages by their words. It keeps an index beside the logs,
// DATA/index/search.db (SQLite with FTS5), which says nothing that the logs don't: it may be
// deleted at any time and is made anew.
//
// Update brings the index up to what is committed, from where it stopped; Follow takes a batch of
// some rooms, Review one of all, and Run updates again and again. With Rest, the index rests after
// each batch. None takes a lock of a room. Several processes may update and search at the same
// time: each step is one transaction that begins where the last one ended. Text that was redacted,
// and messages that retention removed, leave the index and the file's pages (secure_delete) at the
// next Update. Find looks up every hit in its log before it returns it, so what is not in the log
// any more is not shown, whatever the index holds. What a room's log has behind the place where the
// index is, Find reads line by line, if Options.Behind names the room: a filter passes over lines
// that lack a word, and an index of its own, in memory, says which of the others match, so that
// both ways find the same.
//
// A query is what people type:
//
//	harbour boat                both words, in any order, whatever their case and accents
//	"blue boat"                 these words one after the other
//	sail*                       words that begin so
//	-engine                     not this word
//	from:ann in:#family after:2026-11-01 before:2026-11-21
//
// or what their clients send of it with IRC's SEARCH, attributes: see ParseAttributes.
//
// Limitations: words are what Unicode's letters and digits make, so languages without blanks
// between words are found by whole runs of letters. There is no stemming and no ranking: the newest
// come first. An index that is being made finds what it has so far.
package search
