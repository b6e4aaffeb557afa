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

// talker is a client of the crash test, with what it knew when the server was killed.
type talker struct {
	*client
	round          int
	echo           bool
	acknowledged   []string // own messages that were echoed or followed by a PONG
	received       []string // other clients' messages
	unacknowledged []string // own messages that are sent and not acknowledged, oldest first
	sent           int
	heard          func(text string) // called for each acknowledged or received text; nil: none
}

// talkUntilKilled lets clients send messages until a random number of them is acknowledged, and
// kills the server a random moment later. Input that had reached a client's socket by then counts
// as acknowledged.
func talkUntilKilled(t *testing.T, s *server, round int, random *rand.Rand) []*talker {
	t.Helper()
	enough, moment := int64(random.IntN(crashMaxAcks)), time.Duration(random.IntN(3000))*time.Microsecond
	var all []*talker
	for i := range crashTalkers {
		c := &talker{round: round, echo: i%2 == 0}
		name := fmt.Sprintf("talker%d", i)
		if c.echo {
			// with this capability, no history is replayed
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

// workUntilKilled runs all workers until enough changes are acknowledged, kills the server after
// delay, and waits for the workers. If a worker returns early, the server is killed too.
func workUntilKilled[W any](t *testing.T, s *server, enough int64, delay time.Duration, workers []W, work func(w W, acknowledged func())) {
	t.Helper()
	var heard atomic.Int64
	reached := make(chan struct{}) // closed once, by the first worker that counts enough
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
	time.Sleep(delay) // not for synchronization: kills at any point of a commit
	if err := s.kill(); err != nil {
		t.Error(err)
	}
	working.Wait()
}

// talk sends messages, a few ahead of the acknowledged ones, and reads until the connection is
// lost.
func (c *talker) talk(acknowledged func()) {
	for {
		for len(c.unacknowledged) < crashInFlight {
			if c.say() != nil {
				c.listen(acknowledged)
				return
			}
		}
		if !c.hear(acknowledged) {
			return
		}
	}
}

// say sends the next message.
func (c *talker) say() error {
	text := fmt.Sprintf("%d %s.%d %d %s", c.round, c.name, c.round, c.sent, strings.Repeat("x", c.sent*37%300))
	c.unacknowledged, c.sent = append(c.unacknowledged, text), c.sent+1
	lines := []string{"PRIVMSG " + crashRoom + " :" + text}
	if !c.echo {
		lines = append(lines, fmt.Sprintf("PING :p%d", c.sent))
	}
	return c.send(lines...)
}

// listen reads the remaining input of a connection that no longer accepts output.
func (c *talker) listen(acknowledged func()) {
	for c.hear(acknowledged) {
	}
}

// hear reads one line. It returns false at the end of input.
func (c *talker) hear(acknowledged func()) bool {
	line, err := c.line()
	if err != nil {
		return false
	}
	text, message := said(line)
	switch {
	case message && strings.HasPrefix(line, ":"+c.name+"!"):
		if text != c.unacknowledged[0] { // an echo out of order; checked together with shown
			c.receive(text)
			return true
		}
	case message:
		c.receive(text)
		return true
	case c.echo || !strings.Contains(line, " PONG ") || !strings.HasSuffix(line, fmt.Sprintf("p%d", c.sent-len(c.unacknowledged)+1)):
		return true
	}
	if c.heard != nil {
		c.heard(c.unacknowledged[0])
	}
	c.acknowledged, c.unacknowledged = append(c.acknowledged, c.unacknowledged[0]), c.unacknowledged[1:]
	acknowledged()
	return true
}

func (c *talker) receive(text string) {
	if c.heard != nil {
		c.heard(text)
	}
	c.received = append(c.received, text)
}
