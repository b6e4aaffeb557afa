// Package export exports the messages of rooms for people and programs, and imports them.
//
// Export writes JSON lines or plain text. It reads each room up to COMMITTED as it is when the
// export reaches the room. It takes no lock and blocks no server. Import reads JSON lines. It
// checks the whole file first and appends nothing if a line is invalid. Then it appends through
// package log, so servers may use the rooms meanwhile.
//
// A line of JSON is a Message:
//
//	{"room":"#family","msgid":"abcdefgh-0","time":"2026-11-21T11:30:00.123Z",
//	"tags":"account=ann","line":":ann!u@h PRIVMSG #family :hello"}
//
// An imported message gets a new offset, and so a new id, in its room, and keeps its former id in
// the tag weir/import. It is exported under the former id again. So an export of an import is
// identical to the first export, and a file that is imported twice, or again after an interruption,
// adds each message once.
//
// Import keeps a room's messages in the order of their times. Messages older than the newest one of
// the room are rejected, unless the caller permits late ones. A late message gets the time of the
// newest one, and the tag weir/sent has its own.
//
// Limitations: replies and reactions name the former ids, which clients of the imported room do not
// find. Properties of rooms (topic, modes, ranks) are not exported; a backup has them. An imported
// message that was redacted is recognized by its time, length and command. It reappears if it was
// imported late, or if retention removed it. The ids of imported messages are held in memory, about
// 100 bytes each. Two concurrent imports of the same file may add messages twice.
package export
