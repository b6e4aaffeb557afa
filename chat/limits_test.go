package chat

import (
	"net"
	"strings"
	"testing"
	"time"

	"weir/chat/account"
)

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
