//go:build linux

package chattest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"weir/chat/account"
	"weir/internal/testsize"
)

// hear reads n messages of the room.
func (c *client) hear(n int) (texts []string, err error) {
	for len(texts) < n {
		line, err := c.line()
		if err != nil {
			return texts, fmt.Errorf("got %d messages, want %d: %w", len(texts), n, err)
		}
		if text, is := said(line); is {
			texts = append(texts, text)
		}
	}
	return texts, nil
}

// hearInOrder reads n messages that start with 0, 1, 2 and so on.
func (c *client) hearInOrder(t *testing.T, n int) {
	t.Helper()
	texts, err := c.hear(n)
	c.must(t, err)
	for i, text := range texts {
		if first, _, _ := strings.Cut(text, " "); first != strconv.Itoa(i) {
			t.Fatalf("%s: got %.30q as message %d, want number %d", c.name, text, i, i)
		}
	}
}

// crowd connects guests to the room and waits until each has seen the others join.
func (s *server) crowd(t *testing.T, names ...string) []*client {
	t.Helper()
	var all []*client
	for _, name := range names {
		c := s.guest(t, name)
		c.join(t, crashRoom)
		all = append(all, c)
	}
	for _, c := range all {
		_, err := c.flush()
		c.must(t, err)
	}
	return all
}

// TestEveryClientReceivesTheMessagesInTheLogsOrder has 64 clients talk at the same time. The
// originally published chat lost 3 to 12 messages, and duplicated as many, with 16 to 64 clients.
func TestEveryClientReceivesTheMessagesInTheLogsOrder(t *testing.T) {
	everyProgram(t, func(t *testing.T, p *program) {
		const members, each = 64, 10
		s := p.run(t)
		var names []string
		for i := range members {
			names = append(names, fmt.Sprintf("m%d", i))
		}
		all := s.crowd(t, names...)
		heard, errs := make([][]string, members), make([]error, members)
		var everyone sync.WaitGroup
		for i, c := range all {
			everyone.Go(func() {
				for n := range each {
					if errs[i] = c.send(fmt.Sprintf("PRIVMSG %s :%d from %s .", crashRoom, n, c.name)); errs[i] != nil {
						return
					}
				}
				heard[i], errs[i] = c.hear((members - 1) * each)
			})
		}
		everyone.Wait()
		kept := readLog(t, s)
		if len(kept) != members*each {
			t.Errorf("got %d messages in the log, want the %d that were sent", len(kept), members*each)
		}
		for i, c := range all {
			c.must(t, errs[i])
			others := slices.DeleteFunc(slices.Clone(kept), func(text string) bool { return strings.HasSuffix(text, " "+c.name+" .") })
			if !slices.Equal(heard[i], others) {
				t.Errorf("%s received\n%q\nwant the others' messages in the log's order:\n%q", c.name, heard[i], others)
			}
			rest, err := c.flush()
			c.must(t, err)
			if len(rest) > 0 {
				t.Errorf("%s received %q after all messages, want nothing", c.name, rest)
			}
		}
	})
}

// In the originally published chat signals merged and each was answered by one read, so the tail of
// a 19 kB burst waited for the next message.
func TestABurstIsDeliveredAtOnce(t *testing.T) {
	everyProgram(t, func(t *testing.T, p *program) {
		all := p.run(t).crowd(t, "alice", "bob", "carol")
		var burst strings.Builder
		n := 0
		for ; burst.Len() < 19_000; n++ {
			fmt.Fprintf(&burst, "PRIVMSG %s :%d %s\r\n", crashRoom, n, strings.Repeat("x", 150))
		}
		all[0].must(t, all[0].write(burst.String()))
		all[1].hearInOrder(t, n)
		all[2].hearInOrder(t, n)
	})
}

// In the originally published chat a NUL in a message sent bytes of the heap to other clients.
func TestAMessageWithANULIsNotDelivered(t *testing.T) {
	everyProgram(t, func(t *testing.T, p *program) {
		all := p.run(t).crowd(t, "alice", "bob")
		alice, bob := all[0], all[1]
		alice.must(t, alice.send("PRIVMSG "+crashRoom+" :abc\x00def", "PRIVMSG "+crashRoom+" :\xff\xfe", "PRIVMSG "+crashRoom+" :0 whole"))
		bob.hearInOrder(t, 1)
		_, err := alice.flush()
		alice.must(t, err)
		rest, err := bob.flush()
		bob.must(t, err)
		if len(rest) > 0 {
			t.Errorf("bob received %q, want nothing", rest)
		}
	})
}

// The originally published chat refused a password that arrived in two segments.
func TestAPasswordInTwoSegmentsIsAccepted(t *testing.T) {
	everyProgram(t, func(t *testing.T, p *program) {
		s := p.run(t)
		s.account(t, "alice", "correct-horse", account.Member)
		bob := s.crowd(t, "bob")[0]
		alice := s.client(t, "alice")
		for _, b := range []byte("PASS alice:correct-horse\r\nNICK alice\r\nUSER alice 0 * :Alice\r\n") {
			alice.must(t, alice.write(string(b)))
		}
		alice.must(t, alice.welcomed())
		for _, b := range []byte("JOIN " + crashRoom + "\r\nPRIVMSG " + crashRoom + " :0 hello\r\n") {
			alice.must(t, alice.write(string(b)))
		}
		bob.hearInOrder(t, 1)
	})
}

// A client that does not read delays no other client. If it is disconnected, the history has what
// it missed.
func TestSlowReaderDelaysNoOther(t *testing.T) {
	everyProgram(t, func(t *testing.T, p *program) {
		const messages, block = 12_000, 200 // more than sockets and queues hold
		s := p.run(t)
		all := s.crowd(t, "alice", "carol")
		alice, carol := all[0], all[1]
		bob := s.modern(t, "bob")
		alice.until(t, ":bob!")
		for i := range messages / block {
			var lines []string
			for k := range block {
				lines = append(lines, fmt.Sprintf("PRIVMSG %s :%d %s", crashRoom, i*block+k, strings.Repeat("x", 400)))
			}
			alice.must(t, alice.send(lines...))
			_, err := alice.flush()
			alice.must(t, err)
			texts, err := carol.hear(block)
			carol.must(t, err)
			for k, text := range texts {
				if n, _, _ := strings.Cut(text, " "); n != strconv.Itoa(i*block+k) {
					t.Fatalf("carol received %.30q, want number %d", text, i*block+k)
				}
			}
		}
		heard := 0
		for heard < messages {
			line, err := bob.line()
			if err != nil || strings.HasPrefix(line, "ERROR ") {
				break
			}
			heard = bob.count(t, line, heard)
		}
		t.Logf("the slow reader received %d of %d messages when it read", heard, messages)
		if heard < messages {
			s.catchUp(t, heard, messages)
		}
	})
}

// modern returns a guest in the room with chathistory.
func (s *server) modern(t *testing.T, nick string) *client {
	t.Helper()
	c := s.client(t, nick)
	c.must(t, c.logIn(nick, "", "message-tags", "server-time", "batch", "draft/chathistory"))
	c.join(t, crashRoom)
	return c
}

// count checks a line to a client that has received so many messages, and returns the new number.
func (c *client) count(t *testing.T, line string, heard int) int {
	t.Helper()
	text, is := said(line)
	if !is {
		return heard
	}
	if n, _, _ := strings.Cut(text, " "); n != strconv.Itoa(heard) {
		t.Fatalf("%s received %.30q, want number %d", c.name, text, heard)
	}
	return heard + 1
}

// catchUp reads the whole history page by page, as a slow client does after it was disconnected.
func (s *server) catchUp(t *testing.T, heard, messages int) {
	t.Helper()
	c := s.modern(t, "bobby")
	after := "timestamp=2000-01-01T00:00:00.000Z"
	read := 0 // messages of the history read so far
	for read < messages {
		c.must(t, c.send("CHATHISTORY AFTER "+crashRoom+" "+after+" 500"))
		c.until(t, "BATCH +")
		before := read
		for {
			line, err := c.line()
			c.must(t, err)
			if strings.Contains(line, "BATCH -") {
				break
			}
			read = c.count(t, line, read)
			after = "msgid=" + tag(line, "msgid")
		}
		if read == before {
			t.Fatalf("got a history of %d messages, want %d; %d of them had been received live", read, messages, heard)
		}
	}
}

// tag returns the value of a line's tag.
func tag(line, name string) string {
	tags, _, _ := strings.Cut(strings.TrimPrefix(line, "@"), " ")
	for t := range strings.SplitSeq(tags, ";") {
		if key, value, _ := strings.Cut(t, "="); key == name {
			return value
		}
	}
	return ""
}

// A client that floods is throttled and loses nothing; other clients are not delayed.
func TestFloodIsThrottled(t *testing.T) {
	everyProgram(t, func(t *testing.T, p *program) {
		const lines = 600
		s := p.run(t, "--flood", "50")
		s.account(t, "mallory", "battery-staple", account.Member)
		all := s.crowd(t, "alice", "bob")
		alice, bob := all[0], all[1]
		mallory := s.client(t, "mallory")
		mallory.must(t, mallory.logIn("mallory", "mallory:battery-staple"))
		mallory.join(t, crashRoom)
		var flood strings.Builder
		for i := range lines {
			fmt.Fprintf(&flood, "PRIVMSG %s :%d flood\r\n", crashRoom, i)
		}
		mallory.must(t, mallory.write(flood.String()))
		for i := range 20 {
			alice.must(t, alice.send(fmt.Sprintf("PRIVMSG bob :aside %d", i)))
		}
		floods, asides := 0, 0
		for floods < lines || asides < 20 {
			line, err := bob.line()
			bob.must(t, err)
			if strings.HasSuffix(line, fmt.Sprintf(" :aside %d", asides)) {
				asides++
			}
			floods = bob.count(t, line, floods)
		}
		if asides != 20 {
			t.Errorf("bob received %d direct messages in order, want 20", asides)
		}
	})
}

// A thousand idle clients delay no other client, and stay connected.
func TestIdleClientsDelayNoOther(t *testing.T) {
	wanted := testsize.Of(t, "WEIR_CHATTEST_IDLE", 1000)
	everyProgram(t, func(t *testing.T, p *program) {
		many := wanted
		if p.idle > 0 {
			many = min(wanted, p.idle)
		}
		s := p.run(t)
		var idle []*client
		for i := range many {
			idle = append(idle, s.guest(t, fmt.Sprintf("idle%d", i)))
		}
		all := s.crowd(t, "alice", "bob")
		for i := range 100 {
			all[0].must(t, all[0].send(fmt.Sprintf("PRIVMSG %s :%d hello", crashRoom, i)))
		}
		all[1].hearInOrder(t, 100)
		for _, c := range idle {
			lines, err := c.flush()
			c.must(t, err)
			if len(lines) > 0 {
				t.Errorf("%s received %q, want nothing", c.name, lines)
			}
		}
	})
}
