package chat

import (
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"weir/chat/account"
	"weir/serve"
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

// line is a connection that records what it was sent and whether it was closed.
type line struct {
	said   []byte
	closed bool
}

func (l *line) Send(p []byte) bool   { l.said = append(l.said, p...); return true }
func (l *line) Post()                {}
func (l *line) Close()               { l.closed = true }
func (l *line) RemoteAddr() net.Addr { return nil }

// from opens a session for an address. Words is part of the refusal; "" expects that the session is
// admitted.
func (s *server) from(addr, words string) (serve.Session, *line) {
	s.t.Helper()
	l := new(line)
	session := s.chat.Session(l, Peer{Addr: netip.MustParseAddr(addr)})
	if (session == nil) != (words != "") || !strings.Contains(string(l.said), words) {
		s.t.Errorf("%s received %q, want %q", addr, l.said, words)
	}
	return session, l
}

// closeSessions ends sessions that no serve.Run owns.
func closeSessions(all ...serve.Session) {
	for _, session := range all {
		session.Close(io.EOF)
	}
}

func TestConnectionsAreLimitedByNetworkExceptLoopback(t *testing.T) {
	s := startServer(t, serve.Goroutine, Options{MaxPerAddress: 2}).run()
	const refused = "Too many connections from your address)"
	a, _ := s.from("2001:db8::1", "")
	b, _ := s.from("2001:db8::2", "") // the same /64
	s.from("2001:db8::3", refused)
	c, _ := s.from("2001:db8:0:1::3", "")
	closeSessions(a)
	d, _ := s.from("2001:db8::3", "")
	closeSessions(b, c, d)
	for range 10 {
		e, _ := s.from("::1", "")
		defer closeSessions(e)
	}
}

func TestUnregisteredConnectionsLockOutNoClient(t *testing.T) {
	s := startServer(t, serve.Goroutine, Options{MaxUnregistered: 1000, MaxUnregisteredPerAddress: 10}).run()
	known := s.user("alice")
	var first *line
	var all []serve.Session
	for i := range 4000 {
		session, l := s.from(netip.AddrFrom4([4]byte{198, 18, byte(i / 10 >> 8), byte(i / 10)}).String(), "")
		all = append(all, session)
		if i == 0 {
			first = l
		}
	}
	// the 399th address
	s.from("198.18.1.143", "Too many connections from your address that have not registered")
	if !first.closed || !strings.Contains(string(first.said), "Too many unregistered connections") {
		t.Errorf("the oldest unregistered connection received %q, closed %v; want the reason, and closed", first.said, first.closed)
	}
	if n := s.chat.Counts().Evicted; n != 3000 {
		t.Errorf("got %d unregistered connections evicted, want 3000 of 4000", n)
	}
	if s.user("bob").sync(); !known.stillThere() {
		t.Error("a registered client was disconnected to make room for unregistered ones, want it kept")
	}
	closeSessions(all...)
	if c := s.chat.Counts(); c.Sessions != 2 {
		t.Errorf("after the unregistered connections closed: got %d sessions, want 2", c.Sessions)
	}
}

func TestSTSIsAdvertisedByTransport(t *testing.T) {
	s := startServer(t, serve.Goroutine, Options{STS: &STS{Port: 6697, Duration: 30 * 24 * time.Hour}}).run()
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
	everyWayWith(t, Options{PingAfter: 20 * time.Millisecond}, func(t *testing.T, s *server) {
		c := s.user("alice")
		c.until("PING :weir.chat")
		c.until("ERROR :Closing link (ping timeout)")
		if line, ok := c.line(); ok {
			t.Errorf("the client received %q after the end, want nothing", line)
		}
	})
}

func TestAConnectionThatDoesNotRegisterIsClosed(t *testing.T) {
	everyWayWith(t, Options{RegistrationTimeout: 20 * time.Millisecond}, func(t *testing.T, s *server) {
		c := s.client("slow")
		c.until("ERROR :Closing link")
	})
}

func TestAThrottledAccountLosesNoCommand(t *testing.T) {
	everyWayWith(t, Options{CommandsPerSecond: 100}, func(t *testing.T, s *server) {
		s.account("alice", "correct-horse", account.Member)
		c := s.client("alice")
		c.send("PASS alice:correct-horse", "NICK alice", "USER a 0 * :A")
		c.until(" 221 ")
		for range 12 {
			c.send(strings.TrimSuffix(strings.Repeat("PING x\r\n", 100), "\r\n"))
		}
		for range 1200 {
			c.until("PONG")
		}
		if n := s.chat.Counts().Throttled; n == 0 {
			t.Error("got 0 throttled commands, want some")
		}
	})
}

func TestAClientThatDoesNotReadIsClosed(t *testing.T) {
	everyWay(t, func(t *testing.T, s *server) {
		alice, bob, carol := s.user("alice"), s.user("bob"), s.user("carol")
		for _, c := range []*client{alice, bob, carol} {
			c.send("JOIN #room")
			c.until(" 366 ")
		}
		text := strings.Repeat("x", 400)
		gone := false
		for s.chat.Counts().TooSlow == 0 { // bob reads nothing
			for range 100 {
				alice.send("PRIVMSG #room :" + text)
			}
			alice.send("PING :more?")
			alice.until("more?")
			for received := 0; received < 100; {
				line, _ := carol.line()
				gone = gone || strings.Contains(line, ":bob!bob@") && strings.Contains(line, " QUIT ")
				if strings.Contains(line, "PRIVMSG") {
					received++
				}
			}
		}
		if !gone {
			carol.until(" QUIT ")
		}
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
	everyWay(t, func(t *testing.T, s *server) {
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

// A client that requests much at once is answered as fast as it reads the answers, and its output
// queue stays small.
func TestAClientThatReadsNoRepliesIsBlocked(t *testing.T) {
	const asked = 240
	everyWayWith(t, Options{MOTD: strings.Repeat(strings.Repeat("x", 380)+"\n", 500)}, func(t *testing.T, s *server) {
		a, b := s.user("a"), s.user("b")
		b.sync()
		before := s.chat.Counts().Commands
		a.send(strings.TrimSuffix(strings.Repeat("MOTD\r\n", asked), "\r\n"))
		for s.chat.Counts().Commands < before+3 {
			b.sync()
		}
		b.sync()
		if n := s.chat.Counts().Commands - before; n > asked/2 {
			t.Errorf("client that reads no reply: got %d of %d commands run, want at most half", n, asked)
		}
		for range asked {
			a.until(" 376 ")
		}
	})
}

// Commands that rewrite files, or use a worker for long, have a lower rate limit than others.
func TestExpensiveCommandsCountAsSeveral(t *testing.T) {
	began := time.Now()
	s := startServer(t, serve.Goroutine, Options{CommandsPerSecond: 10, Now: func() time.Time { return began }}).run()
	s.account("alice", "correct-horse", account.Member)
	alice := s.client("alice")
	alice.send("PASS alice:correct-horse", "NICK alice", "USER a 0 * :A")
	alice.until(" 221 ")
	alice.send("REDACT #room abcdefgh-1", "METADATA * SET x :y", "METADATA * CLEAR", "MARKREAD alice timestamp=2100-01-01T00:00:00.000Z", "MARKREAD alice")
	alice.sync()
	var x *Session
	s.chat.withLock(func() {
		x = s.chat.findUser("alice").sessions[0]
		if at, want := s.chat.accountPaces["alice"].nextAt, began.Add(3400*time.Millisecond).UnixNano(); at != want {
			t.Errorf("five expensive commands at 10 a second: got them counted as %v, want 3.4 s", time.Duration(at-began.UnixNano()))
		}
	})
	s.chat.withLock(func() { x.chargeSearch(time.Minute) })
	alice.send("SEARCH something")
	alice.until("RATE_LIMITED")
}

// A client that disconnects while its commands are throttled leaves no session behind.
func TestAThrottledClientThatDisconnectsEnds(t *testing.T) {
	everyWayWith(t, Options{CommandsPerSecond: 10, PingAfter: time.Hour}, func(t *testing.T, s *server) {
		s.account("alice", "correct-horse", account.Member)
		alice := s.client("alice")
		alice.send("PASS alice:correct-horse", "NICK alice", "USER a 0 * :A")
		alice.until(" 221 ")
		alice.send(strings.TrimSuffix(strings.Repeat("PING x\r\n", 110), "\r\n"))
		waitFor(t, func() bool { return s.chat.Counts().Throttled > 0 })
		alice.conn.(*net.TCPConn).SetLinger(0) // a reset
		alice.conn.Close()
		waitFor(t, func() bool { return s.chat.Counts().Users == 0 })
	})
}
