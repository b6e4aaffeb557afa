package conn

import (
	"math"
	"time"
)

// phase is what a read waits for.
type phase uint8

const (
	atFirst phase = iota // the first request's first byte
	atIdle               // a further request's
	atHead               // the rest of a head
	atBody               // more of a body
)

// Read gives net/http the client's bytes as far as they may be seen.
func (c *Conn) Read(p []byte) (int, error) {
	switch {
	case c.line.hijacked.Load():
		return c.readRaw(p)
	case c.reason.Load() != nil:
		return c.readRefusal(p)
	case c.scan.Between() && len(p) == 1:
		return c.listen(p)
	}
	if c.peeked {
		c.peeked = false
		if c.look([]byte{c.peek}, nil); c.reason.Load() != nil {
			return c.readRefusal(p)
		}
	}
	n, err := c.wait(p)
	return c.look(p[:n], p), err
}

// readRaw reads what no longer is HTTP.
func (c *Conn) readRaw(p []byte) (int, error) {
	if len(c.rest) > 0 {
		n := copy(p, c.rest)
		c.rest = c.rest[n:]
		return n, nil
	}
	return c.below(p)
}

// below reads the connection below.
func (c *Conn) below(p []byte) (int, error) {
	if err := c.listening.begin(); err != nil {
		return 0, err
	}
	n, err := c.Conn.Read(p)
	c.listening.end()
	return n, err
}

// listen is net/http waiting for a single byte while a handler works, to see a client that goes
// away. The byte is not judged yet: should the handler take the connection over, it is no HTTP.
func (c *Conn) listen(p []byte) (int, error) {
	if len(c.rest) == 0 {
		c.listening.putOff()
	}
	n, err := c.readRaw(p)
	if n == 1 {
		c.peeked, c.peek = true, p[0]
	}
	return n, err
}

// wait reads, for as long as the rules let a client take.
func (c *Conn) wait(p []byte) (int, error) {
	if len(c.rest) > 0 {
		return c.readRaw(p)
	}
	now := &c.line.watch.clock
	began := now.Load()
	c.line.readBy.Store(c.latest(began))
	idle := c.phase <= atIdle && c.line.place != nil
	if idle {
		c.line.place.Idle()
	}
	n, err := c.below(p)
	if idle {
		c.line.place.Asked()
	}
	c.line.readBy.Store(0)
	if c.phase == atFirst && n > 0 {
		c.line.used.Store(true)
	}
	c.waited += now.Load() - began
	return n, err
}

// latest is by when a read that begins now must end.
func (c *Conn) latest(now int64) int64 {
	rules := &c.line.watch.rules
	var allowed time.Duration
	switch c.phase {
	case atFirst, atHead:
		allowed = rules.Header
	case atIdle:
		allowed = rules.Idle
	case atBody:
		if allowed = rules.Grace; allowed > 0 && rules.Rate > 0 {
			allowed = max(allowed, time.Duration(float64(c.got)/float64(rules.Rate)*1e9))
		}
	}
	if allowed <= 0 || int64(allowed) > math.MaxInt64-now {
		return 0
	}
	return now + max(1, int64(allowed)-c.waited)
}

// look lets the scanner read what came and says how much of p may be seen. With a violation that
// includes as much of the refusal as there is room for.
func (c *Conn) look(came, p []byte) int {
	n, v := c.scan.Scan(came)
	switch {
	case v != nil:
		c.reason.Store(v)
		c.refusal = c.scan.Refusal()
		used := copy(p[min(n, len(p)):], c.refusal)
		c.refusal = c.refusal[used:]
		return n + used
	case n < len(came):
		c.rest = append(append([]byte(nil), came[n:]...), c.rest...)
	}
	c.turn(n)
	return n
}

// turn finds out what the next read waits for, n bytes further on.
func (c *Conn) turn(n int) {
	next := atHead
	switch {
	case c.scan.Between():
		next = atIdle
	case c.scan.InBody():
		next = atBody
	}
	if c.scan.Requests() == 0 && next == atIdle {
		next = atFirst
	}
	if next != c.phase || c.scan.Requests() != c.seen {
		c.phase, c.seen, c.waited, c.got = next, c.scan.Requests(), 0, 0
	}
	c.got += int64(n)
}
