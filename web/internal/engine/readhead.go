package engine

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"weir/serve"
	"weir/web/http1"
)

// headProgress is how far the head of the next request was read, perhaps in several turns.
type headProgress struct {
	isAwaited bool   // the head is awaited, or a part of it has arrived
	later     bool   // a request was answered before
	isIdle    bool   // the Monitor was notified that nothing is asked
	isBegun   bool   // a part of the head has arrived, or it is the first one
	isLimited bool   // the time limit runs
	scanned   int    // bytes behind the start of the input that the scanner has taken
	before    uint64 // the scanner's number of requests before it
}

// readHead reads until the head of a request is complete: it is then in x.in, from x.start to
// x.headEnd. The error is syscall.EAGAIN if the rest has not arrived; otherwise the connection must
// end.
func (c *Conn) readHead() error {
	x, h := c.borrow(), &c.head
	if !h.isAwaited {
		x.compact()
		*h = headProgress{isAwaited: true, later: true, before: c.scanner.Requests(), isBegun: !h.later || len(x.in) > 0}
		if !c.inTurns {
			c.limitHead()
		}
	}
	for {
		switch complete, v := c.scanHead(); {
		case v != nil:
			x.reject(v, x.in[x.start:])
			return v
		case complete:
			h.isAwaited = false
			return nil
		}
		if !h.isBegun && !c.scanner.Between() {
			h.isBegun = true
			c.limitHead()
		}
		if err := c.fillHead(); err != nil {
			return err
		}
	}
}

// limitHead starts the time limit of the wait for a request, or for the rest of its head.
func (c *Conn) limitHead() {
	limit := c.server.config.IdleTimeout
	if c.head.isBegun {
		limit = c.server.config.HeadTimeout
	}
	c.head.isLimited = true
	c.reading.limit(time.Now(), limit)
}

// scanHead scans the input that has arrived. It reports whether the head is complete.
func (c *Conn) scanHead() (complete bool, v *http1.Violation) {
	x, h := c.x, &c.head
	x.sameHead = h.scanned == 0 && x.head.repeats && c.scanner.Between() && bytes.HasPrefix(x.in[x.start:], x.head.bytes)
	if x.sameHead {
		c.scanner.RepeatHead()
		x.headEnd = x.start + len(x.head.bytes)
		return true, nil
	}
	for x.start+h.scanned < len(x.in) { // a fill may move the input within its buffer
		n, _, v := c.scanner.Step(x.in[x.start+h.scanned:])
		h.scanned += n
		switch {
		case v != nil:
			return false, v
		case c.scanner.Requests() > h.before || c.scanner.InBody():
			x.headEnd = x.start + h.scanned
			return true, nil
		case c.scanner.Between(): // an empty line before the request
			x.start, h.scanned = x.start+h.scanned, 0
		}
	}
	return false, nil
}

// fillHead reads more input behind x.in. The error is syscall.EAGAIN if nothing has arrived.
func (c *Conn) fillHead() error {
	if c.monitor != nil && !c.head.isIdle && c.scanner.Between() {
		c.head.isIdle = true
		c.monitor.Idle()
	}
	var err error
	if c.inTurns {
		err = c.tryFill()
	} else {
		err = c.x.fill()
	}
	if c.head.isIdle && err != syscall.EAGAIN {
		c.head.isIdle = false
		c.monitor.Asked()
	}
	return err
}

// tryFill is fill by a read that does not wait. If nothing has arrived, it sets the deadline until
// which the connection waits. A head that arrives at once needs none.
func (c *Conn) tryFill() error {
	x := c.x
	x.makeRoom()
	for {
		n, err := serve.TryRead(c.conn, x.in[len(x.in):cap(x.in)])
		x.in = x.in[:len(x.in)+n]
		switch {
		case n > 0:
			return nil
		case err == nil:
			return io.ErrNoProgress
		case err != syscall.EAGAIN && !errors.Is(err, os.ErrDeadlineExceeded):
			return err
		}
		if !c.head.isLimited {
			c.limitHead()
		}
		if err != syscall.EAGAIN && !c.reading.again(err) {
			return c.countSlow(err)
		}
		if failed := c.reading.arm(c.conn.SetReadDeadline); failed != nil || err == syscall.EAGAIN {
			return cmp.Or(failed, err)
		}
	}
}

// fill reads more input behind x.in. A deadline that has passed is an error.
func (x *exchange) fill() error { return x.fillFrom(x.conn.conn) }

// fillFrom is fill by a read of source: the connection, or the one within it.
func (x *exchange) fillFrom(source net.Conn) error {
	c := x.conn
	x.makeRoom()
	for {
		if err := c.reading.arm(source.SetReadDeadline); err != nil {
			return err
		}
		n, err := source.Read(x.in[len(x.in):cap(x.in)])
		x.in = x.in[:len(x.in)+n]
		switch {
		case n > 0:
			return nil
		case err == nil:
			return io.ErrNoProgress
		case !c.reading.again(err) || c.interrupted.Load():
			return c.countSlow(err)
		}
	}
}
