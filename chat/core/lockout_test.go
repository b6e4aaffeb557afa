package core

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"weir/chat/account"
)

// attempt logs in with a name and a password, and returns the reply: "welcome" for success.
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
		return s.tries(p, "welcome :You are now an IRC operator", "NICK guest", "USER x 0 * :x", "OPER "+name+" :"+password)
	},
	"upload": func(s *server, p Peer, name, password string) string {
		err := s.chat.CheckLoginLimits(p, name)
		if err == nil {
			login, failed := s.chat.accounts.Plain(name, password)
			s.chat.withLock(func() { _, err = s.chat.FinishUploaderLogin(p, name, login, failed) })
		}
		return fmt.Sprint(map[bool]any{true: "welcome", false: err}[err == nil])
	},
}

// tries sends lines and returns the line that answers a login. Good is the reply to a successful
// one.
func (s *server) tries(p Peer, good string, lines ...string) string {
	s.t.Helper()
	c := s.clientFrom("login", p)
	defer func() {
		c.hangUp()
		s.chat.waitFor(func() bool { return c.ended })
	}()
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
	c := s.clientFrom("login", p)
	defer func() {
		c.hangUp()
		s.chat.waitFor(func() bool { return c.ended })
	}()
	c.send("CAP REQ sasl")
	c.until(" ACK ")
	if line := c.scram(s.t, name, password); strings.Contains(line, " 904 ") {
		return line
	}
	return "welcome"
}

// address returns a distinct address for each number.
func address(i int) Peer {
	return Peer{Addr: netip.AddrFrom4([4]byte{192, 0, byte(2 + i/250), byte(i%250 + 1)})}
}

// guess makes failed logins for an account, two from each address, until it is throttled for other
// addresses.
func (s *server) guess(name string) {
	s.t.Helper()
	for i := range 2 * (guessesPerName + 1) {
		s.chat.withLock(func() { s.chat.countFailedLogin(address(100+i/2), name, account.ErrLoginFailed) })
	}
}

func TestGuessesFromOtherNetworksDoNotLockOutTheOwner(t *testing.T) {
	for way, try := range attempts {
		t.Run(way, func(t *testing.T) {
			s := startServer(t, Options{})
			s.account("ann", "correct horse", account.Operator)
			s.run()
			home := address(1)
			if got := try(s, home, "ann", "correct horse"); got != "welcome" {
				t.Fatalf("ann received %q before any failed login, want welcome", got)
			}
			if way == "OPER" { // OPER does not record the network
				s.chat.withLock(func() { s.chat.knownNetworks.add("ann", home.Addr) })
			}
			s.guess("ann")
			if got := try(s, home, "ann", "correct horse"); got != "welcome" {
				t.Errorf("ann received %q where she has logged in before, want that she is let in", got)
			}
			for _, password := range []string{"correct horse", "wrong horse"} {
				got := try(s, address(2), "ann", password)
				if !strings.Contains(got, "too many attempts, try again in ") || strings.Contains(got, "wrong") || strings.Contains(got, "ncorrect") {
					t.Errorf("a stranger who says %q received %q, want that there were too many attempts", password, got)
				}
			}
			s.chat.withLock(func() {
				for range guessesPerName + 1 {
					s.chat.countFailedLogin(Peer{Addr: home.Addr}, "ann", account.ErrLoginFailed)
				}
			})
			if got := try(s, home, "ann", "correct horse"); !strings.Contains(got, "too many attempts") {
				t.Errorf("who guesses at home received %q, want that there were too many attempts", got)
			}
		})
	}
}

func TestACertificateOfTheAccountIsNotLockedOut(t *testing.T) {
	s := startServer(t, Options{})
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
		if got := attempts["SASL PLAIN"](s, p, "ann", "correct horse"); (got == "welcome") != c.in {
			t.Errorf("a client with certificate %.4q received %q, want admitted: %v", c.fingerprint, got, c.in)
		}
	}
}

// Three networks that guess at the full rate for ten minutes are few: networks without recent
// failures share a limit of their own.
func TestAFewGuessingNetworksDoNotLockOutTheOwnerAtANewAddress(t *testing.T) {
	s := startServer(t, Options{})
	s.account("ann", "correct horse", account.Member)
	s.run()
	for second := range int64(600) {
		s.chat.clock = epoch.Add(time.Duration(second) * time.Second)
		for i := range 3 {
			s.chat.withLock(func() {
				if p := address(100 + i); s.chat.CheckLoginLimits(p, "ann") == nil {
					s.chat.countFailedLogin(p, "ann", account.ErrLoginFailed)
				}
			})
		}
	}
	if got := attempts["SASL PLAIN"](s, address(100), "ann", "correct horse"); !strings.Contains(got, "too many attempts") {
		t.Errorf("one of the networks received %q after its guesses, want that there were too many", got)
	}
	for way, try := range attempts {
		if way == "OPER" { // OPER is for registered clients
			continue
		}
		if got := try(s, address(1), "ann", "correct horse"); got != "welcome" {
			t.Errorf("by %s the owner at a new address received %q, want that she is let in", way, got)
		}
	}
}

func TestANetworkOfIPv6HasOneFirstTry(t *testing.T) {
	s := startServer(t, Options{}).run()
	for i := range 3 {
		p := Peer{Addr: netip.MustParseAddr(fmt.Sprintf("2001:db8:1:%d::1", i))}
		s.chat.withLock(func() { s.chat.countFailedLogin(p, "ann", account.ErrLoginFailed) })
	}
	s.chat.withLock(func() {
		left := s.chat.guesses["ann first"].Sub(s.chat.clock)
		if left <= 0 || left > guessEvery {
			t.Errorf("failed logins from three /64 of one /48: got %v until the next first try, want more than 0 and at most %v, as for one network", left, guessEvery)
		}
	})
}

// A neighbour behind the same NAT may guess at other accounts all day.
func TestGuessesBehindTheSameNATDoNotLockOutTheOwner(t *testing.T) {
	s := startServer(t, Options{})
	s.account("ann", "correct horse", account.Member)
	s.account("bob", "correct horse", account.Member)
	s.run()
	nat, try := address(1), attempts["SASL PLAIN"]
	if got := try(s, nat, "ann", "correct horse"); got != "welcome" {
		t.Fatalf("ann received %q before any failed login, want welcome", got)
	}
	for i := range guessesPerNetwork + 1 {
		s.chat.withLock(func() { s.chat.countFailedLogin(nat, fmt.Sprint("name", i), account.ErrLoginFailed) })
	}
	if got := try(s, nat, "ann", "correct horse"); got != "welcome" {
		t.Errorf("ann received %q where she has logged in before, want that she is let in", got)
	}
	if got := try(s, nat, "bob", "correct horse"); !strings.Contains(got, "too many attempts") {
		t.Errorf("bob received %q, who never logged in there, want that there were too many attempts", got)
	}
}

func TestRememberedFailuresAreLimited(t *testing.T) {
	g, until := guesses{}, time.Now()
	for i := range maxGuesses + 10 {
		g[itoa(i)] = until
	}
	if g.dropExcess(); len(g) != maxGuesses {
		t.Errorf("got %d remembered, want %d", len(g), maxGuesses)
	}
}

func TestOnlyTheGuessingNetworkIsThrottled(t *testing.T) {
	s := startServer(t, Options{})
	s.account("ann", "correct horse", account.Member)
	s.account("bob", "correct horse", account.Member)
	s.run()
	host := netip.MustParseAddr("2001:db8::1")
	for i := range guessesPerNetwork {
		s.chat.withLock(func() { s.chat.countFailedLogin(Peer{Addr: host}, fmt.Sprint("name", i), account.ErrLoginFailed) })
		host = host.Next() // of the same network
	}
	try := attempts["SASL PLAIN"]
	if got := try(s, Peer{Addr: host}, "ann", "correct horse"); !strings.Contains(got, "try again in 6 s") {
		t.Errorf("a client of the network received %q, want to try again in 6 s", got)
	}
	if got := try(s, Peer{Addr: netip.MustParseAddr("2001:db8:0:1::1")}, "ann", "correct horse"); got != "welcome" {
		t.Errorf("a client of another network received %q, want welcome", got)
	}
	s.chat.clock = s.chat.clock.Add(7 * time.Second)
	if got := try(s, Peer{Addr: host}, "bob", "correct horse"); got != "welcome" {
		t.Errorf("after 7 s a client of the network received %q, want welcome", got)
	}
}

func TestAThrottledLoginDoesNotLengthenTheWait(t *testing.T) {
	s := startServer(t, Options{})
	s.account("ann", "correct horse", account.Member)
	s.run()
	s.guess("ann")
	wait := func() (at [2]time.Time) {
		s.chat.withLock(func() { at = [2]time.Time{s.chat.guesses["ann"], s.chat.guesses["ann first"]} })
		return at
	}
	before := wait()
	for range 3 {
		attempts["SASL PLAIN"](s, address(9), "ann", "correct horse")
	}
	if after := wait(); after != before {
		t.Errorf("throttled logins: got the waits until %v, want %v as before them", after, before)
	}
}

func TestKnownNetworksOfAnAccountAreLimited(t *testing.T) {
	a := knownNetworks{}
	for i := range 100 {
		a.add("ann", address(i).Addr)
		a.add("ann", address(0).Addr)
	}
	if n := len(a["ann"]); n != networksPerAccount {
		t.Errorf("got %d networks of an account remembered, want %d", n, networksPerAccount)
	}
	if a["ann"][networksPerAccount-1].Addr() != address(0).Addr {
		t.Errorf("last of the known networks: got %v, want that of the last login, %v", a["ann"][networksPerAccount-1], address(0).Addr)
	}
}
