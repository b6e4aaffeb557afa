package core

import (
	"bytes"
	"slices"
	"time"
)

// conn is a connection in memory: an environment.Conn, and what serve does for its session.
type conn struct {
	shell   *shell
	session *Session
	in      []byte // sent by the client, not yet read by the session
	out     []byte // sent to the client
	posted  bool
	paused  bool // the session has paused its input
	wakeAt  time.Time
	hungUp  bool // the client has closed it
	closed  bool // the core has closed it
	ended   bool // its session has ended
	full    bool // its queue takes nothing
	narrow  bool // its queue takes Outbox bytes that the client has not read
	refused bool // it has refused output
	unacked bool // output is on its way
}

// connect opens a connection, whose session is nil if the core refuses it.
func (s *shell) connect(p Peer) *conn {
	c := &conn{shell: s}
	s.conns = append(s.conns, c)
	if s.withLock(func() { c.session = s.Connect(c, p) }); c.session == nil {
		c.ended = true
		s.forget(c)
	}
	return c
}

// adopt continues a connection of another shell.
func (s *shell) adopt(c *conn, state []byte) {
	c.shell = s
	s.conns = append(s.conns, c)
	err := s.runTask(func(t *Task) error {
		c.session = s.Adopt(t, c, state)
		return nil
	})
	if err != nil || c.session == nil {
		c.ended = true
		s.forget(c)
	}
}

func (s *shell) forget(c *conn) {
	s.conns = slices.DeleteFunc(s.conns, func(other *conn) bool { return other == c })
}

// Send implements environment.Conn.
func (c *conn) Send(p []byte) bool {
	tooMuch := c.narrow && len(c.out) > 0 && len(c.out)+len(p) > Outbox
	if c.ended || c.closed || c.full || tooMuch {
		c.refused = true
		return false
	}
	c.out = append(c.out, p...)
	return true
}

// Post implements environment.Conn.
func (c *conn) Post() { c.posted = true }

// Close implements environment.Conn.
func (c *conn) Close() { c.closed = true }

// Delivered implements environment.Conn.
func (c *conn) Delivered() (sent, acknowledged bool) {
	sent = !c.full && !(c.narrow && len(c.out) > 0)
	return sent, sent && !c.unacked && !(c.hungUp && len(c.out) > 0)
}

// CanMove implements environment.Conn.
func (c *conn) CanMove() bool { return true }

// isReady reports whether serve would call the session now.
func (c *conn) isReady() bool {
	return c.closed || c.posted || c.isDue() || !c.paused && (len(c.in) > 0 || c.hungUp)
}

func (c *conn) isDue() bool { return !c.wakeAt.IsZero() && !c.wakeAt.After(c.shell.clock) }

// step calls the session once.
func (c *conn) step() {
	switch {
	case c.closed:
		c.end(ConnectionBroke)
	case c.posted || c.isDue():
		c.posted = false
		if c.isDue() {
			c.wakeAt = time.Time{}
		}
		c.takeTurn(func(r *Turn) error { return c.session.Wake(c.shell.opened.Now(), r) })
	case len(c.in) > 0:
		in := c.take()
		c.takeTurn(func(r *Turn) error { return c.session.Input(in, r) })
	default:
		c.end(ClientClosed)
	}
}

// take takes input: all, or a part if steps are chosen by random.
func (c *conn) take() []byte {
	n := len(c.in)
	if c.shell.random != nil && c.shell.random.IntN(4) == 0 {
		n = 1 + c.shell.random.IntN(n)
	}
	in := bytes.Clone(c.in[:n])
	c.in = c.in[n:]
	return in
}

// takeTurn calls the session, and does what it asks.
func (c *conn) takeTurn(call func(*Turn) error) {
	var r Turn
	var err error
	c.shell.withLock(func() { err = call(&r) })
	c.out = append(c.out, r.Output...)
	c.paused = r.PauseInput
	if !r.WakeAt.IsZero() {
		c.setWakeAt(r.WakeAt)
	}
	if err != nil {
		cause := ConnectionBroke
		if c.session.EndedWith(err) {
			cause = SessionEnded
		}
		c.end(cause)
	}
}

// setWakeAt lets the session be woken at a time, and no longer at an earlier one.
func (c *conn) setWakeAt(at time.Time) {
	c.wakeAt = at
	c.shell.timers = append(c.shell.timers, timerAt{at, func() {}})
}

// end ends the session.
func (c *conn) end(cause CloseCause) {
	c.ended = true
	c.shell.forget(c)
	c.shell.withLock(func() { c.session.Close(cause) })
}
