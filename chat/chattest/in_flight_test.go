//go:build linux

package chattest

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"weir/chat/account"
)

// inFlight is the number of messages of these tests. The receive buffer of the client holds fewer,
// and the send buffer of the server more.
const inFlight = 100

// A client without chathistory is replayed the messages that were in flight when its connection
// ended: they were written, but its system has not acknowledged them.
func TestMessagesInFlightAreReplayed(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, s *server, ann, bob *client){
		"the connection breaks": func(t *testing.T, _ *server, ann, bob *client) {
			ann.reset()
			bob.until(t, " QUIT ")
		},
		"the client closes": func(t *testing.T, _ *server, ann, bob *client) {
			ann.conn.(*net.TCPConn).CloseWrite()
			bob.until(t, " QUIT ")
		},
		"the server stops": func(t *testing.T, s *server, _, bob *client) {
			bob.must(t, s.stop())
			s.mustStart(t)
		},
		"the server is killed": func(t *testing.T, s *server, _, bob *client) {
			bob.must(t, s.kill())
			s.mustStart(t)
		},
	} {
		t.Run(name, func(t *testing.T) {
			everyServer(t, func(t *testing.T, p *program) {
				s := p.run(t)
				s.account(t, "ann", "correct-horse", account.Member)
				s.account(t, "carl", "correct-horse", account.Member)
				ann := s.narrow(t, "ann")
				ann.must(t, ann.logIn("ann", "ann@phone:correct-horse"))
				ann.join(t, crashRoom)
				carl := s.client(t, "carl")
				carl.must(t, carl.logIn("carl", "carl@phone:correct-horse", "message-tags"))
				carl.join(t, crashRoom)
				bob := s.crowd(t, "bob")[0]
				bob.must(t, bob.send("PRIVMSG "+crashRoom+" :seen"))
				ann.until(t, ":seen")
				s.marked(t, "ann", carl.until(t, ":seen"))
				bob.talkAtLength(t, crashRoom)
				// once the marker of carl, who reads, is stored, that of ann would be
				s.marked(t, "carl", carl.until(t, fmt.Sprintf(":%d ", inFlight-1)))
				end(t, s, ann, bob)

				back := s.client(t, "ann")
				back.must(t, back.logIn("ann", "ann@phone:correct-horse"))
				back.must(t, back.send("JOIN "+crashRoom))
				// the client's system may have acknowledged the first ones
				back.hearTheRest(t, inFlight/2)
			})
		})
	}
}

// So is a client that was away the direct messages of its next connection.
func TestMissedDirectMessagesInFlightAreReplayedAgain(t *testing.T) {
	everyServer(t, func(t *testing.T, p *program) {
		s := p.run(t)
		s.account(t, "ann", "correct-horse", account.Member)
		s.account(t, "bob", "correct-horse", account.Member)
		ann := s.client(t, "ann")
		ann.must(t, ann.logIn("ann", "ann@phone:correct-horse"))
		bob := s.client(t, "bob")
		bob.must(t, bob.logIn("bob", "bob@phone:correct-horse"))
		bob.must(t, bob.send("PRIVMSG ann :seen"))
		ann.until(t, ":seen")
		ann.must(t, ann.send("QUIT"))
		ann.closed(t)
		bob.talkAtLength(t, "ann")
		bob.must(t, bob.send("QUIT"))
		bob.closed(t)
		bob.must(t, s.stop()) // no session has the conversation open
		s.mustStart(t)

		for range 2 {
			ann := s.narrow(t, "ann")
			ann.must(t, ann.send("PASS ann@phone:correct-horse", "NICK ann", "USER ann 0 * :ann", "PING :replayed?"))
			ann.until(t, "] 0 ")
			ann.reset()
		}
		back := s.client(t, "ann")
		back.must(t, back.send("PASS ann@phone:correct-horse", "NICK ann", "USER ann 0 * :ann"))
		back.hearTheRest(t, 0)
	})
}

// everyServer runs a test against each server, and those in Go under one concurrency model.
func everyServer(t *testing.T, f func(t *testing.T, p *program)) {
	everyProgram(t, func(t *testing.T, p *program) {
		if p.command[0] == "weir" && p.name != "loop" {
			t.Skip("package chat tests its read markers under each concurrency model")
		}
		f(t, p)
	})
}

// narrow returns a client with a small receive buffer.
func (s *server) narrow(t *testing.T, name string) *client {
	t.Helper()
	d := net.Dialer{Control: func(_, _ string, raw syscall.RawConn) error {
		return raw.Control(func(fd uintptr) { _ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096) })
	}}
	c, err := dialWith(d, s.addr, name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.conn.Close() })
	return c
}

// reset closes the connection by a reset, so that the server learns of it at once.
func (c *client) reset() {
	c.conn.(*net.TCPConn).SetLinger(0)
	c.conn.Close()
}

// talkAtLength sends the messages 0 to inFlight-1, and waits until they are stored.
func (c *client) talkAtLength(t *testing.T, target string) {
	t.Helper()
	for i := range inFlight {
		c.must(t, c.send(fmt.Sprintf("PRIVMSG %s :%d %s", target, i, strings.Repeat("x", 400))))
	}
	_, err := c.flush()
	c.must(t, err)
}

// hearTheRest reads replayed messages up to the last one. The first must not be later than latest.
func (c *client) hearTheRest(t *testing.T, latest int) {
	t.Helper()
	_, text, _ := strings.Cut(c.until(t, "] "), "] ")
	number, _, _ := strings.Cut(text, " ")
	first, err := strconv.Atoi(number)
	if err != nil || first > latest {
		t.Fatalf("%s was replayed %.20q first, want one of the messages 0 to %d: what was acknowledged before is not replayed", c.name, text, latest)
	}
	for i := first + 1; i < inFlight; i++ {
		c.until(t, fmt.Sprintf("] %d ", i))
	}
}

// closed reads to the end of the connection.
func (c *client) closed(t *testing.T) {
	t.Helper()
	for {
		c.conn.SetReadDeadline(time.Now().Add(waitLimit))
		if _, err := c.r.ReadString('\n'); err != nil {
			c.conn.Close()
			return
		}
	}
}

// marked waits until the read marker of an account's phone is behind a line with a msgid.
func (s *server) marked(t *testing.T, name, line string) {
	t.Helper()
	room, offset, ok := strings.Cut(tag(line, "msgid"), "-")
	at, err := strconv.ParseInt(offset, 10, 64)
	if !ok || err != nil {
		t.Fatalf("got msgid %q, want ROOM-OFFSET", tag(line, "msgid"))
	}
	for end := time.Now().Add(waitLimit); ; time.Sleep(10 * time.Millisecond) {
		text, _ := os.ReadFile(filepath.Join(s.data, "marks", name))
		for mark := range strings.Lines(string(text)) {
			if f := strings.Fields(mark); len(f) > 2 && strings.HasPrefix(f[0], room) && f[1] == "phone" {
				if n, err := strconv.ParseInt(f[2], 10, 64); err == nil && n > at {
					return
				}
			}
		}
		if time.Now().After(end) {
			t.Fatalf("the read marker of %s is not behind offset %d within %v:\n%s", name, at, waitLimit, text)
		}
	}
}
