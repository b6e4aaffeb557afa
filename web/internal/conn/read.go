package conn

import (
	"math"
	"time"
)

// phase is what a read waits for.
type phase uint8

const (
	atFirst phase = iota // the first byte of the first request
	atIdle               // the first byte of a later request
	atHead               // the rest of a head
	atBody               // more of a body
)

// Read implements [net.Conn]. It returns input up to the first violation of HTTP's framing.
func (c *Conn) Read(p []byte) (int, error) {
	switch {
	case c.line.hijacked.Load():
		return c.readRaw(p)
	case c.violation.Load() != nil:
		return c.readRejected(p)
	case c.scanner.Between() && len(p) == 1:
		return c.peek(p)
	}
	if c.hasPeeked {
		c.hasPeeked = false
		if c.scan([]byte{c.peeked}, nil); c.violation.Load() != nil {
			return c.readRejected(p)
		}
	}
	n, err := c.wait(p)
	return c.scan(p[:n], p), err
}

// readRaw reads input that is not HTTP any more.
func (c *Conn) readRaw(p []byte) (int, error) {
	if len(c.rest) > 0 {
		n := copy(p, c.rest)
		c.rest = c.rest[n:]
		return n, nil
	}
	return c.readLower(p)
}

// readLower reads the lower connection.
func (c *Conn) readLower(p []byte) (int, error) {
	if err := c.detection.start(); err != nil {
		return 0, err
	}
	n, err := c.Conn.Read(p)
	c.detection.end()
	return n, err
}

// peek is the read of a single byte with which net/http detects, while a handler works, that the
// client disconnects. The byte is not scanned yet: if the handler takes the connection over, it is
// not HTTP.
func (c *Conn) peek(p []byte) (int, error) {
	if len(c.rest) == 0 {
		c.detection.delay()
	}
	n, err := c.readRaw(p)
	if n == 1 {
		c.hasPeeked, c.peeked = true, p[0]
	}
	return n, err
}

// wait reads input, within the time that the rules allow a client.
func (c *Conn) wait(p []byte) (int, error) {
	if len(c.rest) > 0 {
		return c.readRaw(p)
	}
	now := &c.line.watch.clock
	began := now.Load()
	c.line.readBy.Store(c.readLimit(began))
	idle := c.phase <= atIdle && c.line.place != nil
	if idle {
		c.line.place.Idle()
	}
	n, err := c.readLower(p)
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

// readLimit returns the time by which a read that starts now must end; 0: there is none.
func (c *Conn) readLimit(now int64) int64 {
	rules := &c.line.watch.rules
	var allowed time.Duration
	switch c.phase {
	case atFirst, atHead:
		allowed = rules.Header
	case atIdle:
		allowed = rules.Idle
	case atBody:
		if allowed = rules.Grace; allowed > 0 && rules.Rate > 0 {
			allowed = max(allowed, time.Duration(float64(c.bodyBytes)/float64(rules.Rate)*1e9))
		}
	}
	if allowed <= 0 || int64(allowed) > math.MaxInt64-now {
		return 0
	}
	return now + max(1, int64(allowed)-c.waited)
}

// scan scans input, which is at the start of p, and returns how many bytes of p net/http may see.
// At a violation, they end with as much of the input that net/http rejects as there is room for.
func (c *Conn) scan(input, p []byte) int {
	n, v := c.scanner.Scan(input)
	switch {
	case v != nil:
		c.violation.Store(v)
		c.rejectedInput = c.scanner.Refusal()
		used := copy(p[min(n, len(p)):], c.rejectedInput)
		c.rejectedInput = c.rejectedInput[used:]
		return n + used
	case n < len(input):
		c.rest = append(append([]byte(nil), input[n:]...), c.rest...)
	}
	c.setPhase(n)
	return n
}

// setPhase sets what the next read waits for, after n bytes of input.
func (c *Conn) setPhase(n int) {
	next := atHead
	switch {
	case c.scanner.Between():
		next = atIdle
	case c.scanner.InBody():
		next = atBody
	}
	if c.scanner.Requests() == 0 && next == atIdle {
		next = atFirst
	}
	if next != c.phase || c.scanner.Requests() != c.scanned {
		c.phase, c.scanned, c.waited, c.bodyBytes = next, c.scanner.Requests(), 0, 0
	}
	c.bodyBytes += int64(n)
}
