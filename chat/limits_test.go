package chat

import (
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
		t.Errorf("%d were let through at once, want 51", taken)
	}
	wait := p.wait(now, 5)
	if wait <= 0 || wait > time.Second/5 {
		t.Errorf("the next waits %v, want at most 200 ms", wait)
	}
	if again := p.wait(now.Add(wait), 5); again != 0 {
		t.Errorf("after that time it waits %v more", again)
	}
}

func TestAnAddressHasSoManyConnectionsAndLoopbackAny(t *testing.T) {
	s := startServer(t, serve.Goroutine, Options{PerAddress: 2}).run()
	there := Peer{Addr: netip.MustParseAddr("192.0.2.1")}
	for i, want := range []string{"", "", "Too many connections from your address"} {
		if why := s.chat.admit(there); why != want {
			t.Errorf("connection %d: %q, want %q", i, why, want)
		}
	}
	for range 10 {
		if why := s.chat.admit(Peer{Addr: netip.MustParseAddr("::1")}); why != "" {
			t.Error(why)
		}
	}
}

func TestWhoSaysNothingIsAskedAndThenGone(t *testing.T) {
	everyWayWith(t, Options{Alive: 20 * time.Millisecond}, func(t *testing.T, s *server) {
		c := s.user("alice")
		c.until("PING :weir.chat")
		c.until("ERROR :Closing link (ping timeout)")
		if line, ok := c.line(); ok {
			t.Errorf("after its end the client is told %q", line)
		}
	})
}

func TestWhoDoesNotRegisterIsGone(t *testing.T) {
	everyWayWith(t, Options{Begin: 20 * time.Millisecond}, func(t *testing.T, s *server) {
		c := s.client("slow")
		c.until("ERROR :Closing link")
	})
}

func TestAnAccountThatSaysTooMuchWaitsAndLosesNothing(t *testing.T) {
	everyWayWith(t, Options{Flood: 100}, func(t *testing.T, s *server) {
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
			t.Error("nothing was throttled")
		}
	})
}

func TestWhoTakesNothingIsClosedAndTheOthersGoOn(t *testing.T) {
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
			for heard := 0; heard < 100; {
				line, _ := carol.line()
				gone = gone || strings.Contains(line, ":bob!bob@") && strings.Contains(line, " QUIT ")
				if strings.Contains(line, "PRIVMSG") {
					heard++
				}
			}
		}
		if !gone {
			carol.until(" QUIT ")
		}
	})
}
