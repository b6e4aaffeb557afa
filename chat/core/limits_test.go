package core

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"weir/chat/account"
)

func TestPaceLetsTenSecondsWorthThroughAtOnceAndThenOneByOne(t *testing.T) {
	var p pace
	now := time.Unix(1000, 0)
	taken := 0
	for p.wait(now, 5) == 0 {
		taken++
	}
	if taken != 51 {
		t.Errorf("rate of 5 commands a second: got %d at once, want 51 (10 seconds' worth and one)", taken)
	}
	wait := p.wait(now, 5)
	if wait <= 0 || wait > time.Second/5 {
		t.Errorf("command after the burst: got a wait of %v, want more than 0 and at most 200 ms", wait)
	}
	if again := p.wait(now.Add(wait), 5); again != 0 {
		t.Errorf("after the wait: got %v more, want 0", again)
	}
}

// from opens a connection from an address. Words is part of the refusal; "" expects that it is
// admitted.
func (s *server) from(addr, words string) *conn {
	s.t.Helper()
	c := s.chat.connect(Peer{Addr: netip.MustParseAddr(addr)})
	if c.ended != (words != "") || !strings.Contains(string(c.out), words) {
		s.t.Errorf("%s received %q, want %q", addr, c.out, words)
	}
	return c
}

// hangUp closes connections.
func (s *server) hangUp(all ...*conn) {
	for _, c := range all {
		c.hungUp = true
	}
	s.chat.untilIdle()
}

func TestConnectionsAreLimitedByNetworkExceptLoopback(t *testing.T) {
	s := startServer(t, Options{MaxPerAddress: 2}).run()
	const refused = "Too many connections from your address)"
	a := s.from("2001:db8::1", "")
	b := s.from("2001:db8::2", "") // the same /64
	s.from("2001:db8::3", refused)
	c := s.from("2001:db8:0:1::3", "")
	s.hangUp(a)
	d := s.from("2001:db8::3", "")
	s.hangUp(b, c, d)
	for range 10 {
		s.from("::1", "")
	}
}

func TestUnregisteredConnectionsLockOutNoClient(t *testing.T) {
	s := startServer(t, Options{MaxUnregistered: 1000, MaxUnregisteredPerAddress: 10}).run()
	known := s.user("alice")
	var all []*conn
	for i := range 4000 {
		all = append(all, s.from(netip.AddrFrom4([4]byte{198, 18, byte(i / 10 >> 8), byte(i / 10)}).String(), ""))
		s.chat.untilIdle()
	}
	// the 399th address
	s.from("198.18.1.143", "Too many connections from your address that have not registered")
	if first := all[0]; !first.ended || !strings.Contains(string(first.out), "Too many unregistered connections") {
		t.Errorf("the oldest unregistered connection received %q, closed %v; want the reason, and closed", first.out, first.ended)
	}
	if n := s.chat.Counts().Evicted; n != 3000 {
		t.Errorf("got %d unregistered connections evicted, want 3000 of 4000", n)
	}
	if s.user("bob").sync(); !known.stillThere() {
		t.Error("a registered client was disconnected to make room for unregistered ones, want it kept")
	}
	s.hangUp(all...)
	if c := s.chat.Counts(); c.Sessions != 2 {
		t.Errorf("after the unregistered connections closed: got %d sessions, want 2", c.Sessions)
	}
}

func TestSTSIsAdvertisedByTransport(t *testing.T) {
	s := startServer(t, Options{STS: &STS{Port: 6697, Duration: 30 * 24 * time.Hour}}).run()
	c := s.client("alice")
	c.send("CAP LS 302")
	if text := c.until(" LS "); !strings.Contains(text, " sts=port=6697 ") {
		t.Errorf("CAP LS in clear text: got %s, want sts=port=6697", text)
	}
	c.send("CAP REQ sts")
	c.until(" NAK :sts")
	old := s.client("bob")
	old.send("CAP LS")
	if text := old.until(" LS "); strings.Contains(text, "sts") {
		t.Errorf("a client without CAP values is offered %s, want no sts", text)
	}
	for want, sts := range map[string]*STS{"duration=2592000": s.o.STS, "duration=0": {}, "": nil} {
		if got := sts.capValue(true); got != want {
			t.Errorf("by TLS the value is %q, want %q", got, want)
		}
	}
	if got := new(STS).capValue(false); got != "" {
		t.Errorf("without a port: got value %q in clear text, want none", got)
	}
}

func TestASilentClientIsPingedAndThenClosed(t *testing.T) {
	inAnyOrderWith(t, Options{PingAfter: time.Minute}, func(t *testing.T, s *server) {
		c := s.user("alice")
		c.until("PING :weir.chat")
		c.until("ERROR :Closing link (ping timeout)")
		if line, ok := c.line(); ok {
			t.Errorf("the client received %q after the end, want nothing", line)
		}
	})
}

func TestAConnectionThatDoesNotRegisterIsClosed(t *testing.T) {
	inAnyOrderWith(t, Options{RegistrationTimeout: time.Minute}, func(t *testing.T, s *server) {
		c := s.client("slow")
		c.until("ERROR :Closing link")
	})
}

func TestInvitationsAreLimitedAndPreferOpenRooms(t *testing.T) {
	s := &Core{rooms: map[string]*room{}}
	u := &user{}
	for i := range 3 * maxInvited {
		r := &room{conversation: conversation{svc: s, name: "#" + itoa(i)}}
		if i%2 == 0 {
			s.rooms[r.name] = r
		}
		if u.addInvitation(r); !u.invited[r] || len(u.invited) > maxInvited {
			t.Fatalf("invitation %d: got %d pending, the last among them: %v; want the limit and the last", i, len(u.invited), u.invited[r])
		}
	}
}

// One line of 510 bytes can contain a nick 170 times, and the history has hundreds of entries of
// it.
func TestWhowasIsBounded(t *testing.T) {
	inAnyOrder(t, func(t *testing.T, s *server) {
		a := s.user("a")
		for range whowasHistorySize / 2 {
			a.send("NICK b", "NICK a")
		}
		a.sync()
		a.send("WHOWAS " + strings.Repeat("a,", 240) + "a")
		if n, most := len(a.sync()), maxTargets*maxWhowasReplies*2+1; n > most {
			t.Errorf("WHOWAS for 241 nicks: got %d lines, want %d at most", n, most)
		}
	})
}

// Commands that rewrite files, or use a worker for long, have a lower rate limit than others.
func TestExpensiveCommandsCountAsSeveral(t *testing.T) {
	s := startServer(t, Options{CommandsPerSecond: 10, Now: func() time.Time { return epoch }}).run()
	s.account("alice", "correct-horse", account.Member)
	alice := s.client("alice")
	alice.send("PASS alice:correct-horse", "NICK alice", "USER a 0 * :A")
	alice.until(" 221 ")
	alice.send("REDACT #room abcdefgh-1", "METADATA * SET x :y", "METADATA * CLEAR", "MARKREAD alice timestamp=2100-01-01T00:00:00.000Z", "MARKREAD alice")
	alice.sync()
	var x *Session
	s.chat.withLock(func() {
		x = s.chat.findUser("alice").sessions[0]
		if at, want := s.chat.accountPaces["alice"].nextAt, epoch.Add(3400*time.Millisecond).UnixNano(); at != want {
			t.Errorf("five expensive commands at 10 a second: got them counted as %v, want 3.4 s", time.Duration(at-epoch.UnixNano()))
		}
	})
	s.chat.withLock(func() { x.chargeSearch(time.Minute) })
	alice.send("SEARCH something")
	alice.until("RATE_LIMITED")
}

// No line is cheap enough to be free: one connection could keep the server busy with it.
func TestEveryLineCountsForTheRateLimit(t *testing.T) {
	for _, line := range []string{"PONG", "BATCH +1 x", "", "PING x", "FROB", "\x00", "@a PONG"} {
		t.Run(line, func(t *testing.T) {
			s := startServer(t, Options{}).run()
			c := s.clientFrom("mallory", Peer{Addr: netip.MustParseAddr("192.0.2.1")}).register()
			s.chat.untilIdle()
			c.send(strings.Split(strings.Repeat(line+"\n", 120), "\n")...)
			s.chat.untilIdle()
			if n := s.chat.Counts().Throttled; n == 0 {
				t.Errorf("120 lines %q at once: got none delayed, want some", line)
			}
		})
	}
}

// bigRoom returns a client from elsewhere in a room with 512 other members. There are 15 other
// rooms.
func (s *server) bigRoom() *client {
	s.t.Helper()
	for i := range 2 * itemsPerCommand {
		s.client("member" + itoa(i)).register().send("JOIN #big" + []string{"", ",#room" + itoa(i)}[min(1, 15/(i+1))])
	}
	s.chat.untilIdle()
	c := s.clientFrom("mallory", Peer{Addr: netip.MustParseAddr("192.0.2.1")}).register("draft/no-implicit-names", "draft/metadata-2")
	c.send("JOIN #big")
	c.until(" JOIN #big")
	s.chat.untilIdle()
	return c
}

// The cost of a command grows with the members that it examines or notifies. That of LIST grows
// with the conditions that it compares with each room.
func TestCommandsCountByWhatTheyCost(t *testing.T) {
	s := startServer(t, Options{PingAfter: time.Hour}).run()
	c := s.bigRoom()
	for _, command := range []struct {
		line  string
		costs int
	}{
		{"PING x", 1}, {"WHO #big", 3}, {"NAMES #big", 3}, {"TAGMSG #big", 3}, {"NICK mallory2", 3}, {"SETNAME :Mallory", 3}, {"AWAY :gone", 3},
		{"METADATA #big SYNC", 3}, {"METADATA * SUB key", 3}, {"PART #big", 3}, {"JOIN #big", 3}, {"LIST", 1}, {"LIST " + strings.Repeat("*a,", 31) + "*b", 3},
	} {
		s.chat.clock = s.chat.clock.Add(11 * time.Second) // the limit has recovered
		c.send(command.line)
		s.chat.untilIdle()
		left := 0
		for c.session.pace.wait(s.chat.clock, 10) == 0 {
			left++
		}
		if got := 101 - left; got != command.costs {
			t.Errorf("%s: got a cost of %d commands, want %d", command.line, got, command.costs)
		}
	}
}
