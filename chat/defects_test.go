package chat

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"weir/serve"
)

// Published defects of the chat server that this one follows. Each was observed in the published
// program.

// everyWay runs a test under each concurrency model.
func everyWay(t *testing.T, f func(t *testing.T, s *server)) { everyWayWith(t, Options{}, f) }

func everyWayWith(t *testing.T, o Options, f func(t *testing.T, s *server)) {
	for _, way := range testWays() {
		t.Run(way.String(), func(t *testing.T) {
			t.Parallel()
			f(t, startServer(t, way, o).run())
		})
	}
}

// "One read per signal, and signals that merge: the tail of a 19 kB burst waits for the next
// message."
func TestABurstOf19KilobytesArrivesWhole(t *testing.T) {
	everyWay(t, func(t *testing.T, s *server) {
		alice, bob := s.user("alice"), s.user("bob")
		alice.send("JOIN #room")
		alice.until(" 366 ")
		bob.send("JOIN #room")
		bob.until(" 366 ")
		var burst strings.Builder
		const messages = 100
		for i := range messages {
			fmt.Fprintf(&burst, "PRIVMSG #room :%d %s\r\n", i, strings.Repeat("x", 170))
		}
		alice.send(strings.TrimSuffix(burst.String(), "\r\n"))
		for i := range messages {
			if line := bob.until("PRIVMSG #room"); !strings.Contains(line, fmt.Sprintf(":%d x", i)) {
				t.Fatalf("message %d: got %q, want it in order", i, line)
			}
		}
	})
}

// "A NUL in a message sends heap bytes to the others."
func TestANULIsRefused(t *testing.T) {
	everyWay(t, func(t *testing.T, s *server) {
		alice, bob := s.user("alice"), s.user("bob")
		alice.send("JOIN #room")
		alice.until(" 366 ")
		bob.send("JOIN #room")
		bob.until(" 366 ")
		alice.send("PRIVMSG #room :abc\x00def", "PRIVMSG #room :\xff\xfe", "PRIVMSG #room :whole")
		alice.until("FAIL * INVALID_MESSAGE")
		alice.until("FAIL * INVALID_UTF8")
		if line := bob.until("PRIVMSG"); !strings.HasSuffix(line, "PRIVMSG #room :whole") {
			t.Errorf("bob received %q, want only the valid message", line)
		}
	})
}

// "A key split over two segments is refused."
func TestALineMayArriveInPieces(t *testing.T) {
	everyWay(t, func(t *testing.T, s *server) {
		c := s.client("alice")
		for _, b := range []byte("NICK alice\r\nUSER alice 0 * :Alice\r\n") {
			if _, err := c.conn.Write([]byte{b}); err != nil {
				t.Fatal(err)
			}
		}
		c.until(" 221 alice")
	})
}

// "flock over a shared description excludes no process: 3 to 12 messages lost and as many
// duplicated at 16 to 64 clients."
func TestAllMembersReceiveAllMessagesOnceInOneOrder(t *testing.T) {
	everyWay(t, func(t *testing.T, s *server) {
		const members, each = 16, 20
		var all []*client
		for i := range members {
			c := s.user(fmt.Sprintf("user%d", i), "echo-message")
			c.send("JOIN #room")
			c.until(" 366 ")
			all = append(all, c)
		}
		received := make([]string, members)
		var everyone sync.WaitGroup
		for i, c := range all {
			everyone.Go(func() {
				for n := range each {
					c.send(fmt.Sprintf("PRIVMSG #room :%d from %d", n, i))
				}
				var b strings.Builder
				for range members * each {
					b.WriteString(c.until("PRIVMSG") + "\n")
				}
				received[i] = b.String()
			})
		}
		everyone.Wait()
		seen := map[string]bool{}
		for line := range strings.Lines(received[0]) {
			seen[line] = true
		}
		if len(seen) != members*each {
			t.Errorf("got %d distinct messages, want %d", len(seen), members*each)
		}
		for i, h := range received {
			if h != received[0] {
				t.Errorf("member %d received another order than member 0, want the same", i)
			}
		}
	})
}

// "A newcomer gets the last 7 lines": here it gets all that it missed, and no gap follows.
func TestAJoinDuringMessagesHasNoGap(t *testing.T) {
	s := startServer(t, serve.Goroutine, Options{}).run()
	alice := s.user("alice")
	alice.send("JOIN #room")
	alice.until(" 366 ")
	const messages = 400
	var talk sync.WaitGroup
	talk.Go(func() {
		for i := range messages {
			alice.send(fmt.Sprintf("PRIVMSG #room :%d", i))
		}
	})
	for i := range 5 {
		c := s.user(fmt.Sprintf("late%d", i))
		c.send("JOIN #room")
		for next := -1; next < messages; {
			var n int
			line := c.until("PRIVMSG #room :")
			fmt.Sscan(line[strings.LastIndexAny(line, ": ")+1:], &n)
			if next >= 0 && n != next {
				t.Fatalf("late%d received %d after %d, want the next number", i, n, next-1)
			}
			next = n + 1
		}
	}
	talk.Wait()
}
