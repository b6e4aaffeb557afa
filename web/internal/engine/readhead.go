package engine

import (
	"io"
	"net"
	"syscall"
	"time"

	"weir/serve"
	"weir/web/http1"
)

// headProgress is how far the head of the next request was read. Its reading may take several
// turns.
type headProgress struct {
	isAwaited bool   // the head is awaited, or a part of it has arrived
	later     bool   // a request was answered before
	isIdle    bool   // the Monitor was notified that nothing is asked
	limited   bool   // the time for heads runs, not that for idle connections
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
		later := h.later
		*h = headProgress{isAwaited: true, later: true, before: c.scanner.Requests(), limited: !later || len(x.in) > 0}
		c.limitHead()
	}
	for {
		switch complete, v := c.scanHead(); {
		case v != nil:
			x.reject(v)
			return v
		case complete:
			h.isAwaited = false
			return nil
		}
		if between := c.scanner.Between(); !h.limited && !between {
			h.limited = true
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
	if c.head.limited {
		limit = c.server.config.HeadTimeout
	}
	c.reading.limit(time.Now(), limit)
}

// scanHead scans the input that has arrived. It reports whether the head is complete.
func (c *Conn) scanHead() (complete bool, v *http1.Violation) {
	x, h := c.x, &c.head
	for x.start+h.scanned < len(x.in) { // fillHead may move the input within its buffer
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
	err := c.x.fillBy(c.conn, serve.TryRead)
	if c.head.isIdle && err != syscall.EAGAIN {
		c.head.isIdle = false
		c.monitor.Asked()
	}
	return err
}

// fill reads more input behind x.in. A deadline that has passed is an error.
func (x *exchange) fill() error { return x.fillFrom(x.conn.conn) }

// fillFrom is fill by a read of source: the connection, or the one within it.
func (x *exchange) fillFrom(source net.Conn) error { return x.fillBy(source, net.Conn.Read) }

// fillBy is fill by read, from source.
func (x *exchange) fillBy(source net.Conn, read func(net.Conn, []byte) (int, error)) error {
	c := x.conn
	x.makeRoom()
	for {
		if err := c.reading.arm(source.SetReadDeadline); err != nil {
			return err
		}
		n, err := read(source, x.in[len(x.in):cap(x.in)])
		x.in = x.in[:len(x.in)+n]
		switch {
		case n > 0:
			return nil
		case err == nil:
			return io.ErrNoProgress
		case !c.reading.again(err, time.Now()) || c.interrupted.Load():
			return c.countSlow(err)
		}
	}
}
