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
	stormTalk   = 400 // messages that one client sends while the others connect and disconnect
	stormVisits = 4
	visitEnds   = 2 * waitLimit
)

// returner is a user who reconnects repeatedly and has received messages 0 to heard-1, each once
// and in order.
type returner struct {
	name   string
	heard  int
	newest string // msgid of the newest message, "" without message-tags
	known  map[string]bool
	err    error
}

// All clients lose their connections and reconnect at the same time, and request the history after
// their last message.
func TestSimultaneousReconnectsReceiveTheHistory(t *testing.T) {
	everyProgram(t, func(t *testing.T, p *program) {
		p.needs(t, "draft/chathistory", "message-tags", "server-time", "batch")
		s := p.run(t)
		s.storm(t, 40, func(r *returner, visit, until int) error {
			c, err := dial(s.addr, fmt.Sprintf("%s_%d", r.name, visit))
			if err != nil {
				return err
			}
			defer c.conn.Close() // without QUIT
			c.deadline = time.Now().Add(visitEnds)
			return r.visitWithHistory(c, until)
		})
	})
}

// Clients without chathistory receive on joining the messages that their devices missed.
func TestSimultaneousReconnectsReceiveMissedMessages(t *testing.T) {
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
			c.deadline = time.Now().Add(visitEnds)
			return r.visitWithReplay(c, until)
		})
	})
}

// storm lets one client send messages while the others visit the room together, each until it has
// received a number of messages.
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
			visits.Wait() // all devices are registered before the first message
			talk.Go(func() { talkErr = talker.talk(stormTalk) })
		}
		visits.Wait()
	}
	talk.Wait()
	talker.must(t, talkErr)
	for _, r := range all {
		if r.err != nil || r.heard < stormTalk {
			t.Errorf("%s received %d messages and error %v, want %d, each once", r.name, r.heard, r.err, stormTalk)
		}
	}
}

// talk sends n messages, ten at a time.
func (c *client) talk(n int) error {
	for i := range n {
		if err := c.send(fmt.Sprintf("PRIVMSG %s :%d of them", crashRoom, i)); err != nil {
			return err
		}
		if i%10 == 9 {
			if _, err := c.flush(); err != nil {
				return fmt.Errorf("waiting until %d messages are stored: %w", i+1, err)
			}
		}
	}
	return nil
}

// take handles a line: it must be the next message, or have a known msgid. A message from the
// history may arrive live again, and clients with message-tags recognize it by its msgid.
func (r *returner) take(line string) error {
	text, is := said(line)
	id := tag(line, "msgid")
	if !is || r.known[id] {
		return nil
	}
	word, _, _ := strings.Cut(text, " ")
	n, err := strconv.Atoi(word)
	if err != nil || n != r.heard {
		return fmt.Errorf("received %q, want number %d", line, r.heard)
	}
	r.heard, r.newest = n+1, id
	if id != "" {
		r.known[id] = true
	}
	return nil
}

// visitWithHistory joins, requests the messages after the newest known one, and listens. Messages
// received before the end of the history are handled after it.
func (r *returner) visitWithHistory(c *client, until int) error {
	if err := c.logIn(c.name, "", "message-tags", "server-time", "batch", "draft/chathistory"); err != nil {
		return err
	}
	from := "*"
	if r.newest != "" {
		from = "msgid=" + r.newest
	}
	if err := c.send("JOIN "+crashRoom, "CHATHISTORY LATEST "+crashRoom+" "+from+" 1000"); err != nil {
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

// visitWithReplay joins, listens, quits, and reads what is still in flight.
func (r *returner) visitWithReplay(c *client, until int) error {
	if err := c.logIn(r.name, r.name+"@home:correct-horse"); err != nil {
		return err
	}
	if err := c.send("JOIN " + crashRoom); err != nil {
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
	if err := c.send("QUIT"); err != nil {
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

// listen reads messages until a number of them has been received.
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
