package core

import (
	"net/netip"
	"testing"
	"time"

	"weir/chat/account"
)

func TestFailedLoginsAreLimitedAndExpire(t *testing.T) {
	g, now := guesses{}, time.Unix(1000, 0)
	for range guessesPerNetwork {
		if g.waitTime("x", guessesPerNetwork, now) > 0 {
			t.Fatalf("got a wait for one of the first %d logins of a network, want none", guessesPerNetwork)
		}
		g.addFailure("x", now)
	}
	if g.waitTime("x", guessesPerNetwork, now) <= 0 {
		t.Errorf("got no wait after %d failed logins, want one", guessesPerNetwork)
	}
	if g.waitTime("x", guessesPerNetwork, now.Add(guessEvery+1)) > 0 {
		t.Errorf("got a wait %v after a failure, want the failure expired", guessEvery+1)
	}
	for range 10_000 {
		g.addFailure("x", now)
	}
	if later := now.Add((guessesPerName + 2) * guessEvery); g.waitTime("x", 1, later) > 0 {
		t.Errorf("continued failures: got a wait longer than %v, want it bounded", (guessesPerName+2)*guessEvery)
	}
	if g.removeExpired(now.Add(time.Hour)); len(g) > 0 {
		t.Errorf("got %d entries after an hour, want 0", len(g))
	}
}

// logIn checks a password, as a session does that logs in.
func logIn(s *shell, x *Session, name, password string) error {
	return s.runTask(func(t *Task) error {
		x.task = t
		_, err := x.checkPassword(name, password)
		return err
	})
}

// The right password is refused too while logins are throttled: otherwise the reply would reveal
// which password is right.
func TestAThrottledLoginIsRefusedWithTheRightPassword(t *testing.T) {
	s := startServer(t, Options{})
	s.account("alice", "correct-horse", account.Member)
	s.run()
	x := &Session{svc: &s.chat.Core, peer: Peer{Addr: netip.MustParseAddr("192.0.2.1")}}
	if err := logIn(s.chat, x, "alice@phone", "correct-horse"); err != nil {
		t.Fatal(err)
	}
	for range guessesPerNetwork + 1 {
		s.chat.withLock(func() { s.chat.guesses.addFailure(x.peer.networkKey(), s.chat.fixed.Now()) })
	}
	if err := logIn(s.chat, x, "alice@phone", "correct-horse"); asThrottled(err) == nil {
		t.Errorf("a throttled login: got %v, want a ThrottledError", err)
	}
	there := &Session{svc: &s.chat.Core, peer: Peer{Addr: netip.MustParseAddr("192.0.2.2")}}
	if err := logIn(s.chat, there, "alice", "correct-horse"); err != nil {
		t.Errorf("a login from another address: got %v, want success", err)
	}
	for range guessesPerName + 1 {
		s.chat.withLock(func() {
			s.chat.guesses.addFailure("alice", s.chat.fixed.Now())
			s.chat.guesses.addFailure("alice first", s.chat.fixed.Now())
		})
	}
	if err := logIn(s.chat, there, "Alice@phone", "correct-horse"); asThrottled(err) == nil {
		t.Errorf("a login by a throttled name: got %v, want a ThrottledError", err)
	}
}

// Where registration is open, no network gets thousands of accounts. An invite needs no further
// permission.
func TestOpenRegistrationIsLimitedByNetwork(t *testing.T) {
	s := startServer(t, Options{Registration: account.RegistrationOpen}).run()
	from := func(addr string) (n int) {
		for n < 100 && s.chat.countRegistration(Peer{Addr: netip.MustParseAddr(addr)}) == nil {
			n++
		}
		return n
	}
	check := func(addr string, want int) {
		t.Helper()
		if n := from(addr); n != want {
			t.Errorf("registrations from %s: got %d accounts, want %d", addr, n, want)
		}
	}
	s.chat.withLock(func() {
		check("192.0.2.1", registersPerNetwork)
		check("192.0.2.2", registersPerNetwork)
		check("127.0.0.1", 100)
	})
	s.chat.clock = s.chat.clock.Add(registerEvery)
	s.chat.withLock(func() { check("192.0.2.1", 1) })
	s.chat.clock = s.chat.clock.Add(2 * registersPerNetwork * registerEvery)
	s.chat.withLock(func() {
		s.chat.removeExpiredLimits()
		if len(s.chat.guesses) > 0 {
			t.Errorf("got limits %v, want none", s.chat.guesses)
		}
	})
	o := *s.chat.Options()
	o.Registration = account.RegistrationByInvite
	s.chat.withLock(func() { s.chat.Configure(&o) })
	check("192.0.2.1", 100)
}

// Rooms that were only joined leave nothing behind.
func TestAnUnusedRoomIsRemoved(t *testing.T) {
	s := startServer(t, Options{}).run()
	alice := s.user("alice")
	alice.send("JOIN #blank,#said,#set", "PRIVMSG #said :x", "MODE #set +m", "PART #blank,#said,#set", "PING :done?")
	alice.until("done?")
	s.chat.waitFor(func() bool { return !s.chat.HasUnfinishedCommits() })
	s.chat.withLock(func() {
		for _, r := range s.chat.rooms {
			r.lastUsed = time.Time{}
		}
	})
	s.chat.runTask(func(t *Task) error { s.chat.closeIdle(t); return nil })
	for name, want := range map[string]bool{"#blank": false, "#said": true, "#set": true} {
		if _, err := s.o.Disk.Stat(s.dir + "/rooms/" + name); (err == nil) != want {
			t.Errorf("folder of %s: got it present %v, want %v (an unused room is removed)", name, err == nil, want)
		}
	}
}

// A history request for a pair of accounts without messages creates no conversation.
func TestAnUnusedDirectConversationIsRemoved(t *testing.T) {
	s := startServer(t, Options{}).run()
	for _, name := range []string{"alice", "bob", "carol"} {
		s.account(name, "correct-horse", account.Member)
	}
	alice := s.client("alice")
	alice.send("CAP REQ :draft/chathistory", "PASS alice:correct-horse", "NICK alice", "USER a 0 * :A", "CAP END", "CHATHISTORY LATEST bob * 1", "PRIVMSG carol :hello", "PING :done?")
	alice.until("done?")
	alice.send("QUIT")
	s.chat.waitFor(func() bool { return len(s.chat.users) == 0 && !s.chat.HasUnfinishedCommits() })
	for _, f := range s.chat.directs {
		f.lastUsed = time.Time{}
	}
	s.chat.runTask(func(t *Task) error { s.chat.closeIdle(t); return nil })
	if all := s.chat.env.Storage.DirectPartners("alice"); len(all) != 1 || all[0] != "carol" {
		t.Errorf("got conversations with %q, want carol only", all)
	}
}

func TestNamingManyRoomsCountsAsManyCommands(t *testing.T) {
	var p pace
	now := time.Unix(1000, 0)
	if p.charge(now, 10, 150); p.wait(now, 10) < 4*time.Second {
		t.Error("after 150 units of a burst of 100: got no wait, want at least 4 s")
	}
}

// A client that registers and sends a command at once, while its account is throttled, is served in
// time.
func TestACommandThrottledDuringRegistrationRunsInTime(t *testing.T) {
	inAnyOrderWith(t, Options{CommandsPerSecond: 10, PingAfter: time.Hour}, func(t *testing.T, s *server) {
		s.account("alice", "correct-horse", account.Member)
		first, second := s.client("first"), s.client("second")
		first.send("PASS alice:correct-horse", "NICK alice", "USER a 0 * :A")
		first.until(" 221 ")
		for range 110 {
			first.send("PING x")
		}
		second.send("PASS alice@second:correct-horse", "NICK alice", "USER a 0 * :A", "PING :handled?")
		second.until("handled?")
	})
}
