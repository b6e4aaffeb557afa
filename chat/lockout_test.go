package chat

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"weir/chat/account"
	"weir/serve"
)

// at serves clients that come from an address, and returns where.
func (s *server) at(p Peer) (where string) {
	s.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	over := make(chan error, 1)
	service := serve.Service{State: serve.InProcess, Open: func(c serve.Conn) serve.Session { return s.chat.Session(c, p) }}
	go func() { over <- serve.Run(ctx, serve.Goroutine, l, service, serve.Options{}) }()
	s.t.Cleanup(func() {
		stop()
		<-over
	})
	return l.Addr().String()
}

// guests numbers the nicks of guests: the nick of a connection that was closed may be in use for a
// while.
var guests atomic.Int64

// attempt logs in by a name and a password, and returns what the client is told; it contains
// "welcome" if it is let in.
type attempt func(s *server, p Peer, name, password string) string

var attempts = map[string]attempt{
	"SASL PLAIN": func(s *server, p Peer, name, password string) string {
		return s.tries(p, "welcome :SASL authentication successful", "CAP REQ sasl", "AUTHENTICATE PLAIN", "AUTHENTICATE "+plain(name, password))
	},
	"SASL SCRAM": func(s *server, p Peer, name, password string) string {
		return s.triesScram(p, name, password)
	},
	"PASS": func(s *server, p Peer, name, password string) string {
		return s.tries(p, "welcome :You are now logged in", "PASS :"+name+":"+password, "NICK "+name, "USER x 0 * :x")
	},
	"OPER": func(s *server, p Peer, name, password string) string {
		return s.tries(p, "welcome :You are now an IRC operator", fmt.Sprintf("NICK guest%d", guests.Add(1)), "USER x 0 * :x", "OPER "+name+" :"+password)
	},
	"upload": func(s *server, p Peer, name, password string) string {
		_, err := s.chat.ByPassword(context.Background(), p.Addr, name, password)
		return fmt.Sprint(map[bool]any{true: "welcome", false: err}[err == nil])
	},
}

// tries says something, and returns the line that answers a login. Good is what a good one is
// answered.
func (s *server) tries(p Peer, good string, lines ...string) string {
	s.t.Helper()
	conn, err := net.Dial("tcp", s.at(p))
	if err != nil {
		s.t.Fatal(err)
	}
	c := s.clientOn("somebody", conn)
	defer conn.Close()
	c.send(lines...)
	return c.answer(good)
}

func (c *client) answer(good string) string {
	welcome, good, _ := strings.Cut(good, " ")
	for {
		line, ok := c.line()
		switch {
		case !ok:
			return "the end"
		case strings.Contains(line, good):
			return welcome
		case strings.Contains(line, " 904 ") || strings.Contains(line, " 464 "):
			return line
		}
	}
}

func (s *server) triesScram(p Peer, name, password string) string {
	s.t.Helper()
	conn, err := net.Dial("tcp", s.at(p))
	if err != nil {
		s.t.Fatal(err)
	}
	c := s.clientOn("somebody", conn)
	defer conn.Close()
	c.send("CAP REQ sasl")
	c.until(" ACK ")
	if line := c.scram(s.t, name, password); strings.Contains(line, " 904 ") {
		return line
	}
	return "welcome"
}

// address is an address of its own for each number.
func address(i int) Peer {
	return Peer{Addr: netip.AddrFrom4([4]byte{192, 0, byte(2 + i/250), byte(i%250 + 1)})}
}

// guess has strangers guess at an account, two times from each address, until no other address may.
func (s *server) guess(name string) {
	s.t.Helper()
	for i := range 2 * (guessName + 1) {
		s.chat.locked(func() { s.chat.tryFailed(address(100+i/2), name, account.ErrRefused) })
	}
}

func TestStrangersWhoGuessDoNotLockAnAccountsOwnerOut(t *testing.T) {
	for way, try := range attempts {
		t.Run(way, func(t *testing.T) {
			s := startServer(t, serve.Goroutine, Options{})
			s.account("ann", "correct horse", account.Operator)
			s.run()
			home := address(1)
			if told := try(s, home, "ann", "correct horse"); told != "welcome" {
				t.Fatalf("ann is told %q before anybody has guessed", told)
			}
			if way == "OPER" { // it is for those whose client has logged in, or cannot
				s.chat.locked(func() { s.chat.acquainted.note("ann", home.Addr) })
			}
			s.guess("ann")
			if told := try(s, home, "ann", "correct horse"); told != "welcome" {
				t.Errorf("ann is told %q where she has logged in before, want that she is let in", told)
			}
			for _, password := range []string{"correct horse", "wrong horse"} {
				told := try(s, address(2), "ann", password)
				if !strings.Contains(told, "too many attempts, try again in ") || strings.Contains(told, "wrong") || strings.Contains(told, "ncorrect") {
					t.Errorf("a stranger who says %q is told %q, want that there were too many attempts", password, told)
				}
			}
			s.chat.locked(func() {
				for range guessName + 1 {
					s.chat.tryFailed(Peer{Addr: home.Addr}, "ann", account.ErrRefused)
				}
			})
			if told := try(s, home, "ann", "correct horse"); !strings.Contains(told, "too many attempts") {
				t.Errorf("who guesses at home is told %q, want that there were too many attempts", told)
			}
		})
	}
}

func TestWhoHoldsACertificateOfTheAccountIsNotLockedOut(t *testing.T) {
	s := startServer(t, serve.Goroutine, Options{})
	s.account("ann", "correct horse", account.Member)
	s.run()
	print := strings.Repeat("ab", 32)
	if err := s.chat.accounts.AddCert("ann", print); err != nil {
		t.Fatal(err)
	}
	s.guess("ann")
	for i, c := range []struct {
		fingerprint string
		in          bool
	}{{print, true}, {strings.Repeat("cd", 32), false}, {"", false}} {
		p := address(3 + i)
		p.Fingerprint = c.fingerprint
		if told := attempts["SASL PLAIN"](s, p, "ann", "correct horse"); (told == "welcome") != c.in {
			t.Errorf("who shows the certificate %.4q is told %q, and is to be let in: %v", c.fingerprint, told, c.in)
		}
	}
}

// Three networks that guess as often as they may, for as long as they like, are few: others that
// have not failed lately have their own share of the tries.
func TestAFewNetworksThatGuessDoNotLockTheOwnerOutAtANewAddress(t *testing.T) {
	var now atomic.Int64
	s := startServer(t, serve.Goroutine, Options{Now: func() time.Time { return time.Now().Add(time.Duration(now.Load()) * time.Second) }})
	s.account("ann", "correct horse", account.Member)
	s.run()
	for second := range int64(600) {
		now.Store(second)
		for i := range 3 {
			if p := address(100 + i); s.chat.mayTry(p, "ann") == nil {
				s.chat.locked(func() { s.chat.tryFailed(p, "ann", account.ErrRefused) })
			}
		}
	}
	if told := attempts["SASL PLAIN"](s, address(100), "ann", "correct horse"); !strings.Contains(told, "too many attempts") {
		t.Errorf("one of the networks is told %q after its guesses, want that there were too many", told)
	}
	for way, try := range attempts {
		if way == "OPER" { // is for clients that are in
			continue
		}
		if told := try(s, address(1), "ann", "correct horse"); told != "welcome" {
			t.Errorf("by %s the owner at a new address is told %q, want that she is let in", way, told)
		}
	}
}

func TestANetworkOfIPv6HasOneFirstTry(t *testing.T) {
	s := startServer(t, serve.Goroutine, Options{}).run()
	for i := range 3 {
		p := Peer{Addr: netip.MustParseAddr(fmt.Sprintf("2001:db8:1:%d::1", i))}
		s.chat.locked(func() { s.chat.tryFailed(p, "ann", account.ErrRefused) })
	}
	s.chat.locked(func() {
		left := time.Until(s.chat.guesses["ann first"])
		if left <= 0 || left > guessEvery {
			t.Errorf("three /64 of one /48 count as first tries for %v, want those of one for %v", left, guessEvery)
		}
	})
}

// A neighbour behind the same NAT may guess at other accounts all day.
func TestANeighbourWhoGuessesDoesNotLockOutWhoHasLoggedInThere(t *testing.T) {
	s := startServer(t, serve.Goroutine, Options{})
	s.account("ann", "correct horse", account.Member)
	s.account("bob", "correct horse", account.Member)
	s.run()
	nat, try := address(1), attempts["SASL PLAIN"]
	if told := try(s, nat, "ann", "correct horse"); told != "welcome" {
		t.Fatalf("ann is told %q before anybody has guessed", told)
	}
	for i := range guessNetwork + 1 {
		s.chat.locked(func() { s.chat.tryFailed(nat, fmt.Sprint("name", i), account.ErrRefused) })
	}
	if told := try(s, nat, "ann", "correct horse"); told != "welcome" {
		t.Errorf("ann is told %q where she has logged in before, want that she is let in", told)
	}
	if told := try(s, nat, "bob", "correct horse"); !strings.Contains(told, "too many attempts") {
		t.Errorf("bob is told %q, who never logged in there, want that there were too many attempts", told)
	}
}

func TestGuessesThatAreRememberedAreLimited(t *testing.T) {
	g, until := guesses{}, time.Now()
	for i := range guessesMost + 10 {
		g[itoa(i)] = until
	}
	if g.trim(); len(g) != guessesMost {
		t.Errorf("%d are remembered, want %d", len(g), guessesMost)
	}
}

func TestAnAddressThatGuessesWaitsAndNotTheOthers(t *testing.T) {
	var now atomic.Int64
	s := startServer(t, serve.Goroutine, Options{Now: func() time.Time { return time.Now().Add(time.Duration(now.Load()) * time.Second) }})
	s.account("ann", "correct horse", account.Member)
	s.account("bob", "correct horse", account.Member)
	s.run()
	host := netip.MustParseAddr("2001:db8::1")
	for i := range guessNetwork {
		s.chat.locked(func() { s.chat.tryFailed(Peer{Addr: host}, fmt.Sprint("name", i), account.ErrRefused) })
		host = host.Next() // of the same network
	}
	try := attempts["SASL PLAIN"]
	if told := try(s, Peer{Addr: host}, "ann", "correct horse"); !strings.Contains(told, "try again in 6 s") {
		t.Errorf("somebody of the network is told %q, want to try again in 6 s", told)
	}
	if told := try(s, Peer{Addr: netip.MustParseAddr("2001:db8:0:1::1")}, "ann", "correct horse"); told != "welcome" {
		t.Errorf("somebody of another network is told %q", told)
	}
	now.Add(7)
	if told := try(s, Peer{Addr: host}, "bob", "correct horse"); told != "welcome" {
		t.Errorf("after 7 s somebody of the network is told %q", told)
	}
}

func TestAnAttemptThatIsRefusedUnseenDoesNotMakeTheWaitLonger(t *testing.T) {
	s := startServer(t, serve.Goroutine, Options{})
	s.account("ann", "correct horse", account.Member)
	s.run()
	s.guess("ann")
	wait := func() (at [2]time.Time) {
		s.chat.locked(func() { at = [2]time.Time{s.chat.guesses["ann"], s.chat.guesses["ann first"]} })
		return at
	}
	before := wait()
	for range 3 {
		attempts["SASL PLAIN"](s, address(9), "ann", "correct horse")
	}
	if after := wait(); after != before {
		t.Errorf("the waits end at %v, and ended at %v before", after, before)
	}
}

func TestOfAnAccountSoManyNetworksAreRemembered(t *testing.T) {
	a := acquainted{}
	for i := range 100 {
		a.note("ann", address(i).Addr)
		a.note("ann", address(0).Addr)
	}
	if n := len(a["ann"]); n != acquaintedEach {
		t.Errorf("%d are remembered, want %d", n, acquaintedEach)
	}
	if a["ann"][acquaintedEach-1].Addr() != address(0).Addr {
		t.Error("the one that comes again and again is not the latest")
	}
}
