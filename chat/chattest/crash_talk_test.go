//go:build linux

package chattest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// talker is a client of the crash driver, and what it knows when the server is dead.
type talker struct {
	*client
	round        int
	echo         bool
	acknowledged []string // its own: echoed, or before a PONG
	shown        []string // others'
	waiting      []string // its own, sent and not acknowledged, oldest first
	sent         int
}

// talkUntilKilled has clients talk until so many of their messages are acknowledged, and kills the
// server a random moment later. What had reached a client's socket by then counts as acknowledged.
func talkUntilKilled(t *testing.T, s *server, round int, random *rand.Rand) []*talker {
	t.Helper()
	enough, moment := int64(random.IntN(crashMost)), time.Duration(random.IntN(3000))*time.Microsecond
	var all []*talker
	for i := range crashTalk {
		c := &talker{round: round, echo: i%2 == 0}
		name := fmt.Sprintf("talker%d", i)
		if c.echo {
			// which keeps history from being replayed
			c.client = s.guest(t, name, "echo-message", "draft/chathistory")
		} else {
			c.client = s.guest(t, name, "draft/chathistory")
		}
		c.join(t, crashRoom)
		all = append(all, c)
	}
	workUntilKilled(t, s, enough, moment, all, (*talker).talk)
	for _, c := range all {
		c.conn.Close()
	}
	return all
}

// workUntilKilled has all workers work until so much is acknowledged, kills the server a moment
// later, and waits until the workers have noticed. One that ends before has the server killed too.
func workUntilKilled[W any](t *testing.T, s *server, enough int64, moment time.Duration, workers []W, work func(w W, acknowledged func())) {
	t.Helper()
	var heard atomic.Int64
	reached := make(chan struct{}) // closed once, by the first worker that hears enough
	over := sync.OnceFunc(func() { close(reached) })
	var working sync.WaitGroup
	for _, w := range workers {
		working.Go(func() {
			defer over()
			work(w, func() {
				if heard.Add(1) >= enough {
					over()
				}
			})
		})
	}
	<-reached
	time.Sleep(moment) // not to wait for something: to kill at any point of a commit
	if err := s.kill(); err != nil {
		t.Error(err)
	}
	working.Wait()
}

// talk sends, a few messages ahead of what is acknowledged, and listens, until the connection is
// gone.
func (c *talker) talk(acknowledged func()) {
	for {
		for len(c.waiting) < crashAhead {
			text := fmt.Sprintf("%d %s.%d %d %s", c.round, c.name, c.round, c.sent, strings.Repeat("x", c.sent*37%300))
			c.waiting, c.sent = append(c.waiting, text), c.sent+1
			lines := []string{"PRIVMSG " + crashRoom + " :" + text}
			if !c.echo {
				lines = append(lines, fmt.Sprintf("PING :p%d", c.sent))
			}
			if c.say(lines...) != nil {
				c.listen(acknowledged)
				return
			}
		}
		if !c.hear(acknowledged) {
			return
		}
	}
}

// listen takes what is still to be heard on a connection that takes nothing any more.
func (c *talker) listen(acknowledged func()) {
	for c.hear(acknowledged) {
	}
}

// hear takes one line; false when there is no more.
func (c *talker) hear(acknowledged func()) bool {
	line, err := c.line()
	if err != nil {
		return false
	}
	text, message := said(line)
	switch {
	case message && strings.HasPrefix(line, ":"+c.name+"!"):
		if text != c.waiting[0] { // an echo out of order; judged as shown
			c.shown = append(c.shown, text)
			return true
		}
	case message:
		c.shown = append(c.shown, text)
		return true
	case c.echo || !strings.Contains(line, " PONG ") || !strings.HasSuffix(line, fmt.Sprintf("p%d", c.sent-len(c.waiting)+1)):
		return true
	}
	c.acknowledged, c.waiting = append(c.acknowledged, c.waiting[0]), c.waiting[1:]
	acknowledged()
	return true
}
