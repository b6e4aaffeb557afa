package chat

import (
	"net/netip"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"weir/chat/account"
	"weir/serve"
)

func TestGuessesAreBoundedAndForgotten(t *testing.T) {
	g, now := guesses{}, time.Unix(1000, 0)
	for range guessNetwork {
		if g.tooMany("x", guessNetwork, now) > 0 {
			t.Fatal("it was too many too early")
		}
		g.failed("x", now)
	}
	if g.tooMany("x", guessNetwork, now) <= 0 {
		t.Error("it is not too many")
	}
	if g.tooMany("x", guessNetwork, now.Add(guessEvery+1)) > 0 {
		t.Error("one is not forgotten in time")
	}
	for range 10_000 {
		g.failed("x", now)
	}
	if later := now.Add((guessName + 2) * guessEvery); g.tooMany("x", 1, later) > 0 {
		t.Error("who goes on guessing keeps the owner out for longer than that")
	}
	if g.forget(now.Add(time.Hour)); len(g) > 0 {
		t.Errorf("%d are not forgotten", len(g))
	}
}

// The right password is refused too while too many were wrong, or the answer would say which one it
// is.
func TestWhoGuessedTooOftenIsRefusedWhateverHeSays(t *testing.T) {
	s := startServer(t, serve.Goroutine, Options{})
	s.account("alice", "correct-horse", account.Member)
	s.run()
	x := &session{svc: s.chat, peer: Peer{Addr: netip.MustParseAddr("192.0.2.1")}}
	if _, err := x.plain("alice@phone", "correct-horse"); err != nil {
		t.Fatal(err)
	}
	for range guessNetwork + 1 {
		s.chat.locked(func() { s.chat.guesses.failed(x.peer.guessKey(), s.chat.o.Now()) })
	}
	if _, err := x.plain("alice@phone", "correct-horse"); throttled(err) == nil {
		t.Errorf("it is told %v", err)
	}
	there := &session{svc: s.chat, peer: Peer{Addr: netip.MustParseAddr("192.0.2.2")}}
	if _, err := there.plain("alice", "correct-horse"); err != nil {
		t.Errorf("another address is told %v", err)
	}
	for range guessName + 1 {
		s.chat.locked(func() {
			s.chat.guesses.failed("alice", s.chat.o.Now())
			s.chat.guesses.failed("alice first", s.chat.o.Now())
		})
	}
	if _, err := there.plain("Alice@phone", "correct-horse"); throttled(err) == nil {
		t.Errorf("for a name that was guessed at it is told %v", err)
	}
}

// Where anybody may have an account nobody may have thousands; and who has an invite needs no other
// leave.
func TestAccountsAreBoundedByNetworkWhereAnybodyMayHaveOne(t *testing.T) {
	var now atomic.Int64
	now.Store(1000)
	s := startServer(t, serve.Goroutine, Options{Registration: account.ByAnybody, Now: func() time.Time { return time.Unix(now.Load(), 0) }}).run()
	from := func(addr string) (n int) {
		for n < 100 && s.chat.mayRegister(Peer{Addr: netip.MustParseAddr(addr)}) == nil {
			n++
		}
		return n
	}
	check := func(addr string, want int) {
		t.Helper()
		if n := from(addr); n != want {
			t.Errorf("%s gets %d accounts, want %d", addr, n, want)
		}
	}
	s.chat.locked(func() {
		check("192.0.2.1", registerNetwork)
		check("192.0.2.2", registerNetwork)
		check("127.0.0.1", 100)
		now.Add(int64(registerEvery / time.Second))
		check("192.0.2.1", 1)
		now.Add(int64(2 * registerNetwork * registerEvery / time.Second))
		s.chat.forgive()
		if len(s.chat.guesses) > 0 {
			t.Errorf("%v is remembered", s.chat.guesses)
		}
	})
	if _, err := s.chat.Configure(Options{Registration: account.ByInvite}); err != nil {
		t.Fatal(err)
	}
	check("192.0.2.1", 100)
}

// Rooms that somebody only looked into leave nothing behind.
func TestARoomInWhichNothingWasSaidIsRemoved(t *testing.T) {
	s := startServer(t, serve.Goroutine, Options{}).run()
	alice := s.user("alice")
	alice.send("JOIN #blank,#said,#set", "PRIVMSG #said :x", "MODE #set +m", "PART #blank,#said,#set", "PING :done?")
	alice.until("done?")
	waitFor(t, func() bool { return !s.chat.underWay() })
	s.chat.locked(func() {
		for _, r := range s.chat.rooms {
			r.used = time.Time{}
		}
	})
	s.chat.closeIdle()
	for name, want := range map[string]bool{"#blank": false, "#said": true, "#set": true} {
		if _, err := os.Stat(s.dir + "/rooms/" + name); (err == nil) != want {
			t.Errorf("%s is there: %v, want %v", name, err == nil, want)
		}
	}
}

// Who asks for what he and another have said, and have not, makes no conversation of it.
func TestAConversationInWhichNothingWasSaidIsRemoved(t *testing.T) {
	s := startServer(t, serve.Goroutine, Options{}).run()
	for _, name := range []string{"alice", "bob", "carol"} {
		s.account(name, "correct-horse", account.Member)
	}
	alice := s.client("alice")
	alice.send("CAP REQ :draft/chathistory", "PASS alice:correct-horse", "NICK alice", "USER a 0 * :A", "CAP END", "CHATHISTORY LATEST bob * 1", "PRIVMSG carol :hello", "PING :done?")
	alice.until("done?")
	alice.send("QUIT")
	waitFor(t, func() bool {
		gone := false
		s.chat.locked(func() {
			for _, f := range s.chat.directs {
				f.used = time.Time{}
			}
			gone = len(s.chat.users) == 0
		})
		return gone && !s.chat.underWay()
	})
	s.chat.closeIdle()
	if all := s.chat.conversations("alice"); len(all) != 1 || all[0] != "carol" {
		t.Errorf("alice talks to %q", all)
	}
}

func TestNamingManyRoomsAtOnceCountsAsManyCommands(t *testing.T) {
	var p pace
	now := time.Unix(1000, 0)
	if p.charge(now, 10, 150); p.wait(now, 10) < 4*time.Second {
		t.Error("who took 150 of 100 does not wait")
	}
}

// A client that registers and speaks in one breath, when its account has said too much, has its
// turn in time.
func TestWhoIsThrottledAsItRegistersIsHeardInTime(t *testing.T) {
	everyWayWith(t, Options{Flood: 10, Alive: time.Hour}, func(t *testing.T, s *server) {
		s.account("alice", "correct-horse", account.Member)
		first, second := s.client("first"), s.client("second")
		first.send("PASS alice:correct-horse", "NICK alice", "USER a 0 * :A")
		first.until(" 221 ")
		for range 110 {
			first.send("PING x")
		}
		second.send("PASS alice@second:correct-horse", "NICK alice", "USER a 0 * :A", "PING :heard?")
		second.until("heard?")
	})
}
