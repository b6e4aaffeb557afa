//go:build linux

package chattest

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/chat/account"
)

const (
	stormTalk   = 400 // messages that one says while the others come and go
	stormVisits = 4
	visitEnds   = 2 * patience
)

// returner is somebody who comes back again and again, and what he knows of the room: messages 0 to
// heard-1, once and in order.
type returner struct {
	name   string
	heard  int
	newest string // msgid of the newest message, if he knows of ids
	known  map[string]bool
	err    error
}

// All lose their connections at once and come back at once, and ask for the history from where they
// were.
func TestAllComeBackAtOnce(t *testing.T) {
	everyProgram(t, func(t *testing.T, p *program) {
		p.needs(t, "draft/chathistory", "message-tags", "server-time", "batch")
		s := p.run(t)
		s.storm(t, 40, func(r *returner, visit, until int) error {
			c, err := dial(s.addr, fmt.Sprintf("%s_%d", r.name, visit))
			if err != nil {
				return err
			}
			defer c.conn.Close() // without a word
			c.by = time.Now().Add(visitEnds)
			return r.visitWithHistory(c, until)
		})
	})
}

// Those whose clients know no history are shown on joining what their devices missed.
func TestAllComeBackToAReplay(t *testing.T) {
	everyProgram(t, func(t *testing.T, p *program) {
		s := p.run(t)
		for i := range 10 {
			s.account(t, fmt.Sprintf("r%d", i), "correct-horse", account.Member)
		}
		s.storm(t, 10, func(r *returner, visit, until int) error {
			c, err := dial(s.addr, r.name)
			if err != nil {
				return err
			}
			defer c.conn.Close()
			c.by = time.Now().Add(visitEnds)
			return r.visitWithReplay(c, until)
		})
	})
}

// storm has one talk while others visit the room together, each until so many messages are known.
func (s *server) storm(t *testing.T, many int, visit func(r *returner, visit, until int) error) {
	t.Helper()
	talker := s.crowd(t, "talker")[0]
	var all []*returner
	for i := range many {
		all = append(all, &returner{name: fmt.Sprintf("r%d", i), known: map[string]bool{}})
	}
	var talk sync.WaitGroup
	var talkErr error
	for n := range stormVisits {
		var visits sync.WaitGroup
		for _, r := range all {
			visits.Go(func() {
				if r.err == nil {
					r.err = visit(r, n, n*stormTalk/(stormVisits-1))
				}
			})
		}
		if n == 0 {
			visits.Wait() // all are known before the first message
			talk.Go(func() { talkErr = talker.talk(stormTalk) })
		}
		visits.Wait()
	}
	talk.Wait()
	talker.must(t, talkErr)
	for _, r := range all {
		if r.err != nil || r.heard < stormTalk {
			t.Errorf("%s heard %d of %d: %v", r.name, r.heard, stormTalk, r.err)
		}
	}
}

// talk says so many messages, a few at a time.
func (c *client) talk(n int) error {
	for i := range n {
		if err := c.say(fmt.Sprintf("PRIVMSG %s :%d of them", crashRoom, i)); err != nil {
			return err
		}
		if i%10 == 9 {
			if _, err := c.settled(); err != nil {
				return fmt.Errorf("waiting until %d messages are stored: %w", i+1, err)
			}
		}
	}
	return nil
}

// take takes a line, which has to be the next message, unless it has the id of one that is known:
// what came by the history may come live after it, and clients with message-tags know it by its id.
func (r *returner) take(line string) error {
	text, is := said(line)
	id := tag(line, "msgid")
	if !is || r.known[id] {
		return nil
	}
	word, _, _ := strings.Cut(text, " ")
	n, err := strconv.Atoi(word)
	if err != nil || n != r.heard {
		return fmt.Errorf("is told %q where number %d comes next", line, r.heard)
	}
	r.heard, r.newest = n+1, id
	if id != "" {
		r.known[id] = true
	}
	return nil
}

// visitWithHistory joins, asks for what came after the newest message known, and listens. What is
// said before the history has come is looked at after it.
func (r *returner) visitWithHistory(c *client, until int) error {
	if err := c.comeIn(c.name, "", "message-tags", "server-time", "batch", "draft/chathistory"); err != nil {
		return err
	}
	from := "*"
	if r.newest != "" {
		from = "msgid=" + r.newest
	}
	if err := c.say("JOIN "+crashRoom, "CHATHISTORY LATEST "+crashRoom+" "+from+" 1000"); err != nil {
		return err
	}
	var early []string
	for open := true; open; {
		line, err := c.line()
		if err != nil {
			return fmt.Errorf("waiting for the end of the history: %w", err)
		}
		switch open = !strings.Contains(line, "BATCH -"); {
		case tag(line, "batch") == "":
			early = append(early, line)
		default:
			if err := r.take(line); err != nil {
				return err
			}
		}
	}
	for _, line := range early {
		if err := r.take(line); err != nil {
			return err
		}
	}
	return r.listen(c, until)
}

// visitWithReplay joins, listens, quits, and hears what is still under way.
func (r *returner) visitWithReplay(c *client, until int) error {
	if err := c.comeIn(r.name, r.name+"@home:correct-horse"); err != nil {
		return err
	}
	if err := c.say("JOIN " + crashRoom); err != nil {
		return err
	}
	for joined := false; !joined; {
		line, err := c.line()
		if err != nil {
			return fmt.Errorf("waiting for the names: %w", err)
		}
		if err := r.take(line); err != nil {
			return err
		}
		joined = strings.Contains(line, " 366 ")
	}
	if err := r.listen(c, until); err != nil {
		return err
	}
	if err := c.say("QUIT"); err != nil {
		return err
	}
	for {
		line, err := c.line()
		if err != nil {
			return nil
		}
		if err := r.take(line); err != nil {
			return err
		}
	}
}

// listen hears messages until so many are known.
func (r *returner) listen(c *client, until int) error {
	for r.heard < until {
		line, err := c.line()
		if err != nil {
			return fmt.Errorf("waiting for message %d: %w", r.heard, err)
		}
		if err := r.take(line); err != nil {
			return err
		}
	}
	return nil
}
