// Package export writes the messages of rooms for people and for other programs, and takes them
// back.
//
// Export writes JSON lines or plain text. It reads each room up to what was committed when it came
// to it, takes no lock, and keeps nobody out. Import takes the JSON lines: it looks at the whole
// file first, and appends nothing if one line of it is bad; then it appends through package log, so
// a server may be at work on the same rooms.
//
// A line of JSON is a Message:
//
//	{"room":"#family","msgid":"abcdefgh-0","time":"2026-11-21T11:30:00.123Z","tags":"account=ann","line":":ann!u@h PRIVMSG #family :hello"}
//
// An imported message gets a place, and so an id, of its own in the room where it goes, and keeps
// the id that it had in the tag weir/import. It is exported under that id again, so what is
// exported, imported and exported is the same bytes, and a file that is imported twice, or again
// after it was interrupted, adds each message once.
//
// Import keeps a room's messages in the order of their times. Messages that are older than the
// newest one of the room are refused, unless the caller wants them behind it: then they get its
// time, and the tag weir/sent says their own.
//
// Limitations: replies and reactions name the ids of the messages as they were, which other clients
// of an imported room don't find. What a room is (topic, modes, ranks) is not exported, only that
// it was set; a backup has it. An imported message that was redacted is known by its time, length
// and command: it comes back if it was also imported late, or if the retention removed it. Ids of
// imported messages are held in memory meanwhile, some 100 bytes each. Two imports of the same file
// at the same time may add messages twice.
package export
