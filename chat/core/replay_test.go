package core

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"weir/chat/account"
	"weir/chat/log"
	"weir/internal/durable"
)

// A client that rejoins many rooms is not disconnected as too slow before it reads: otherwise that
// would happen each time.
func TestReplaysOfManyRoomsFitTheOutbox(t *testing.T) {
	const rooms = 32
	s := startServer(t, Options{})
	var names []string
	for i := range rooms {
		names = append(names, fmt.Sprintf("#r%d", i))
		s.saidBefore(names[i], 500, strings.Repeat("x", 400))
	}
	s.account("ann", "secret of ann", account.Member)
	ann := s.run().client("ann")
	ann.narrow = true
	for _, name := range names { // it was there before any message
		r := openRoom(t, s.chat, name)
		s.chat.accounts.SetReadMarker("ann", "phone", r.conversation.logID, 0)
	}
	ann.send("PASS :ann@phone:secret of ann", "NICK ann", "USER ann 0 * :ann", "JOIN "+strings.Join(names, ","))
	s.chat.waitFor(func() bool {
		u, r := s.chat.users["ann"], s.chat.rooms[names[rooms-1]]
		return s.chat.counts.TooSlow > 0 || u != nil && r != nil && len(r.subscriptions) == 1 && r.subscriptions[0].state == live
	})
	for range rooms {
		ann.until("PRIVMSG ")
		ann.until(" 366 ")
	}
}

// saidBefore stores messages in a room before the server runs.
func (s *server) saidBefore(room string, messages int, text string) {
	s.t.Helper()
	if err := (durable.Files{Disk: s.o.Disk}).MkdirAll(filepath.Join(s.dir, "rooms"), 0o700); err != nil {
		s.t.Fatal(err)
	}
	l, err := log.Open(filepath.Join(s.dir, "rooms", room), log.Options{Disk: s.o.Disk})
	if err != nil {
		s.t.Fatal(err)
	}
	defer l.Close()
	var entries []log.Entry
	for range messages {
		entries = append(entries, log.Entry{Time: epoch, Body: ":bob!bob@host PRIVMSG " + room + " :" + text})
	}
	if _, err := l.Append(entries); err != nil {
		s.t.Fatal(err)
	}
}
