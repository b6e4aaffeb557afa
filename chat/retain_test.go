package chat

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"weir/chat/account"
	"weir/chat/data"
	"weir/internal/disk"
	"weir/serve"
)

// A room with a member, a room that is not open, and a direct conversation: each has its own
// limits.
func TestRetainRemovesOldMessagesOfOpenAndClosedLogs(t *testing.T) {
	var ahead atomic.Int64 // how far the server's clock is ahead
	s := startServer(t, serve.Goroutine, Options{Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }})
	s.account("ann", "secret of ann", account.Member)
	s.account("bob", "secret of bob", account.Member)
	s.run()
	say := func(text string) {
		t.Helper()
		c := s.client("ann")
		c.send("PASS :ann:secret of ann", "NICK ann", "USER ann 0 * :ann", "JOIN #open,#closed", "PRIVMSG #open :"+text, "PRIVMSG #closed :"+text, "PRIVMSG bob :"+text)
		c.sync()
		c.send("QUIT")
		c.until("ERROR")
	}
	retain := func(rooms, directs Retention) (removed []string) {
		t.Helper()
		if err := s.chat.Retain(t.Context(), rooms, directs, func(r Retained) {
			if r.Err != nil {
				t.Errorf("Retain of %s: got %v, want nil", r.Log, r.Err)
			}
			removed = append(removed, r.Log)
		}); err != nil {
			t.Fatal(err)
		}
		return removed
	}
	month := Retention{Age: 30 * 24 * time.Hour}
	say("old")
	ahead.Store(int64(10 * 24 * time.Hour)) // more than a quarter of the age: a new segment begins
	s.halt()
	s.run()
	if removed := retain(month, month); len(removed) > 0 {
		t.Errorf("after ten days: removed of %q, want nothing", removed)
	}
	say("new")
	ahead.Store(int64(35 * 24 * time.Hour))
	s.halt()
	s.run()
	carl := s.user("carl")
	carl.send("JOIN #open")
	carl.sync()
	if removed := retain(month, Retention{}); !slices.Equal(removed, []string{"rooms/#closed", "rooms/#open"}) {
		t.Errorf("Retain after 35 days, rooms only: got messages removed of %q, want both rooms", removed)
	}
	if removed := retain(month, month); !slices.Equal(removed, []string{"direct/ann,bob"}) {
		t.Errorf("Retain after 35 days, all: got messages removed of %q, want the direct conversation", removed)
	}
	carl.send("JOIN #closed")
	for _, line := range carl.sync() {
		if strings.Contains(line, ":old") {
			t.Errorf("received %s, want no old message", line)
		}
	}
}

func TestRetainLimitsBytes(t *testing.T) {
	s := startServer(t, serve.Goroutine, Options{CommandsPerSecond: -1}).run()
	c := s.user("ann")
	c.send("JOIN #a")
	keep, total := Retention{Bytes: 20_000}, int64(0)
	for range 100 {
		c.send("PRIVMSG #a :" + strings.Repeat("x", 400))
		c.sync()
		if err := s.chat.Retain(t.Context(), keep, Retention{}, func(r Retained) { total += r.Bytes }); err != nil {
			t.Fatal(err)
		}
	}
	if left := logBytes(disk.Or(nil), s.dir+"/rooms/#a"); total == 0 || left > 20_000 {
		t.Errorf("Retain with 20,000 bytes: got %d removed and %d left, want at most 20,000 left", total, left)
	}
}

// A room may be deleted between the listing and its turn.
func TestRetainDoesNotRecreateADeletedRoom(t *testing.T) {
	s := startServer(t, serve.Goroutine, Options{}).run()
	gone := data.Room{Name: "#gone", Path: "rooms/#gone"}
	if removed, err := s.chat.retain(gone, Retention{Age: time.Hour}); removed != 0 || err != nil {
		t.Errorf("Retain of a deleted room: got %d bytes, %v; want 0 and no error", removed, err)
	}
	if _, err := os.Stat(filepath.Join(s.dir, gone.Path)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder of the deleted room: got %v, want none", err)
	}
}
