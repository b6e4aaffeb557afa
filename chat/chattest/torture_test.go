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

// hear reads so many messages of the room.
func (c *client) hear(n int) (texts []string, err error) {
	for len(texts) < n {
		line, err := c.line()
		if err != nil {
			return texts, fmt.Errorf("after %d messages of %d: %w", len(texts), n, err)
		}
		if text, is := said(line); is {
			texts = append(texts, text)
		}
	}
	return texts, nil
}

// hearInOrder reads so many messages that begin with 0, 1, 2 and so on.
func (c *client) hearInOrder(t *testing.T, n int) {
	t.Helper()
	texts, err := c.hear(n)
	c.must(t, err)
	for i, text := range texts {
		if first, _, _ := strings.Cut(text, " "); first != strconv.Itoa(i) {
			t.Fatalf("%s: message %d is %.30q", c.name, i, text)
		}
	}
}

// crowd is so many guests in the room, all of whom know of each other.
func (s *server) crowd(t *testing.T, names ...string) []*client {
	t.Helper()
	var all []*client
	for _, name := range names {
		c := s.guest(t, name)
		c.join(t, crashRoom)
		all = append(all, c)
	}
	for _, c := range all {
		_, err := c.settled()
		c.must(t, err)
	}
	return all
}

// As published, 3 to 12 messages were lost and as many doubled at 16 to 64 clients.
func TestAllOf64Talk(t *testing.T) {
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
					if errs[i] = c.say(fmt.Sprintf("PRIVMSG %s :%d from %s .", crashRoom, n, c.name)); errs[i] != nil {
						return
					}
				}
				heard[i], errs[i] = c.hear((members - 1) * each)
			})
		}
		everyone.Wait()
		kept := readLog(t, s)
		if len(kept) != members*each {
			t.Errorf("the log has %d messages, want %d", len(kept), members*each)
		}
		for i, c := range all {
			c.must(t, errs[i])
			others := slices.DeleteFunc(slices.Clone(kept), func(text string) bool { return strings.HasSuffix(text, " "+c.name+" .") })
			if !slices.Equal(heard[i], others) {
				t.Errorf("%s heard the others' messages otherwise than the log has them", c.name)
			}
			rest, err := c.settled()
			c.must(t, err)
			if len(rest) > 0 {
				t.Errorf("%s is told %q more", c.name, rest)
			}
		}
	})
}

// As published, signals merge and each is answered by one read, so the tail of a 19 kB burst waits
// for the next message.
func TestABurst(t *testing.T) {
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

// As published, a NUL in a message sends bytes of the heap to the others.
func TestANUL(t *testing.T) {
	everyProgram(t, func(t *testing.T, p *program) {
		all := p.run(t).crowd(t, "alice", "bob")
		alice, bob := all[0], all[1]
		alice.must(t, alice.say("PRIVMSG "+crashRoom+" :abc\x00def", "PRIVMSG "+crashRoom+" :\xff\xfe", "PRIVMSG "+crashRoom+" :0 whole"))
		bob.hearInOrder(t, 1)
		_, err := alice.settled()
		alice.must(t, err)
		rest, err := bob.settled()
		bob.must(t, err)
		if len(rest) > 0 {
			t.Errorf("bob is told %q", rest)
		}
	})
}

// As published, a key that comes in two segments is refused.
func TestAKeyInPieces(t *testing.T) {
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

// Who doesn't read holds up nobody. If it is closed for that, it finds in the history what it
// missed.
func TestASlowReader(t *testing.T) {
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
			alice.must(t, alice.say(lines...))
			_, err := alice.settled()
			alice.must(t, err)
			texts, err := carol.hear(block)
			carol.must(t, err)
			for k, text := range texts {
				if n, _, _ := strings.Cut(text, " "); n != strconv.Itoa(i*block+k) {
					t.Fatalf("carol hears %.30q as number %d", text, i*block+k)
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
		t.Logf("who did not read got %d of %d when it did", heard, messages)
		if heard < messages {
			s.catchUp(t, heard, messages)
		}
	})
}

// modern is a guest in the room who knows chathistory.
func (s *server) modern(t *testing.T, nick string) *client {
	t.Helper()
	c := s.client(t, nick)
	c.must(t, c.comeIn(nick, "", "message-tags", "server-time", "batch", "draft/chathistory"))
	c.join(t, crashRoom)
	return c
}

// count takes a line to somebody who has heard so many messages.
func (c *client) count(t *testing.T, line string, heard int) int {
	t.Helper()
	text, is := said(line)
	if !is {
		return heard
	}
	if n, _, _ := strings.Cut(text, " "); n != strconv.Itoa(heard) {
		t.Fatalf("%s hears %.30q as number %d", c.name, text, heard)
	}
	return heard + 1
}

// catchUp reads what a slow client missed, page by page, from the newest message that it had; or
// from the first.
func (s *server) catchUp(t *testing.T, heard, messages int) {
	t.Helper()
	c := s.modern(t, "bobby")
	after := "timestamp=2000-01-01T00:00:00.000Z"
	read := 0 // of the history, from its beginning
	for read < messages {
		c.must(t, c.say("CHATHISTORY AFTER "+crashRoom+" "+after+" 500"))
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
			t.Fatalf("the history ends after %d messages of %d; %d were heard before", read, messages, heard)
		}
	}
}

// tag is the value of a line's tag.
func tag(line, name string) string {
	tags, _, _ := strings.Cut(strings.TrimPrefix(line, "@"), " ")
	for t := range strings.SplitSeq(tags, ";") {
		if key, value, _ := strings.Cut(t, "="); key == name {
			return value
		}
	}
	return ""
}

// Who says too much at once waits, and loses nothing; the others hear each other.
func TestAFlood(t *testing.T) {
	everyProgram(t, func(t *testing.T, p *program) {
		const lines = 600
		s := p.run(t, "--flood", "50")
		s.account(t, "mallory", "battery-staple", account.Member)
		all := s.crowd(t, "alice", "bob")
		alice, bob := all[0], all[1]
		mallory := s.client(t, "mallory")
		mallory.must(t, mallory.comeIn("mallory", "mallory:battery-staple"))
		mallory.join(t, crashRoom)
		var flood strings.Builder
		for i := range lines {
			fmt.Fprintf(&flood, "PRIVMSG %s :%d flood\r\n", crashRoom, i)
		}
		mallory.must(t, mallory.write(flood.String()))
		for i := range 20 {
			alice.must(t, alice.say(fmt.Sprintf("PRIVMSG bob :aside %d", i)))
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
			t.Errorf("bob heard %d of 20 asides in order", asides)
		}
	})
}

// A thousand who say nothing are in nobody's way, and are there still.
func TestIdleClients(t *testing.T) {
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
			all[0].must(t, all[0].say(fmt.Sprintf("PRIVMSG %s :%d hello", crashRoom, i)))
		}
		all[1].hearInOrder(t, 100)
		for _, c := range idle {
			lines, err := c.settled()
			c.must(t, err)
			if len(lines) > 0 {
				t.Errorf("%s is told %q", c.name, lines)
			}
		}
	})
}
