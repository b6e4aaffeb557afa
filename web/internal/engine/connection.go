package engine

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"time"

	"weir/web/http1"
)

// connection is an HTTP/1 connection. One goroutine owns it.
type connection struct {
	server  *Server
	conn    net.Conn
	tls     *tls.ConnectionState // nil: plain
	monitor Monitor              // nil: there is none
	remote  string               // the client's address; "" until it is asked for
	scanner http1.Scanner
	reading timing
	// a handler has set a deadline for writes
	writeLimited bool

	interrupted atomic.Bool // a read of the content by another goroutine must end
	away        bool        // has left its event loop
	x           *exchange   // the request in progress; nil while the connection is idle
	// The connection within conn, which another goroutine may read while the owner does not. Nil:
	// only the owner may read.
	inner net.Conn
}

// serve answers requests until the connection ends.
func (c *connection) serve() {
	defer c.end()
	for first := true; c.readHead(first) && c.x.run(); first = false {
		if c.x.start == len(c.x.in) {
			c.release()
		}
	}
}

// end ends the connection, also if its handler has called runtime.Goexit. Such a handler may have
// left goroutines that use the exchange.
func (c *connection) end() {
	x := c.x
	if x == nil || !x.inHandler {
		c.release()
		return
	}
	x.body.end()
	x.context.stopWatch()
	x.context.end()
	if x.hijacked != nil {
		_ = c.conn.Close() // it has ended in any case
		c.server.forgetTaken(c)
	}
	x.over, c.x = true, nil
}

// borrow takes an exchange for the next request, with its buffers.
func (c *connection) borrow() *exchange {
	if c.x == nil {
		c.x = c.server.exchanges.Get().(*exchange)
		c.x.conn = c
	}
	return c.x
}

// release returns the exchange to the server.
func (c *connection) release() {
	x := c.x
	if x == nil {
		return
	}
	c.x, x.conn = nil, nil
	x.in, x.start = x.in[:0], 0
	if cap(x.in) <= maxKeptBuffer && cap(x.out) <= maxJoined && cap(x.head.bytes) <= maxKeptBuffer {
		c.server.exchanges.Put(x)
	}
}

// readHead reads until the head of a request is complete: it is then in x.in, from x.start to
// x.headEnd. It reports whether that succeeded; otherwise the connection must end.
func (c *connection) readHead(first bool) bool {
	x := c.borrow()
	x.compact()
	idle := len(x.in) == 0
	if idle && !first {
		c.reading.limit(time.Now(), c.server.config.IdleTimeout)
	} else {
		c.reading.limit(time.Now(), c.server.config.HeadTimeout)
	}
	// scanned counts from x.start: fill may move the input within its buffer
	for scanned, before := 0, c.scanner.Requests(); ; {
		for x.start+scanned < len(x.in) {
			n, _, v := c.scanner.Step(x.in[x.start+scanned:])
			scanned += n
			switch {
			case v != nil:
				x.reject(v)
				return false
			case c.scanner.Requests() > before || c.scanner.InBody():
				x.headEnd = x.start + scanned
				return true
			case c.scanner.Between(): // an empty line before the request
				x.start, scanned = x.start+scanned, 0
			}
		}
		if idle && !first && !c.scanner.Between() {
			c.reading.limit(time.Now(), c.server.config.HeadTimeout)
			idle = false
		}
		if x.fillIdle(c.scanner.Between()) != nil {
			return false
		}
	}
}

// fillIdle is fill for a connection on which, if idle is set, nothing is asked.
func (x *exchange) fillIdle(idle bool) error {
	if m := x.conn.monitor; idle && m != nil {
		m.Idle()
		defer m.Asked()
	}
	return x.fill()
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
		case !c.reading.again(err, time.Now()) || c.interrupted.Load():
			return c.countSlow(err)
		}
	}
}

// write sends p. A client that does not take it is the Monitor's concern.
func (c *connection) write(p []byte) (sent int, err error) {
	if len(p) == 0 {
		return 0, nil
	}
	if c.monitor != nil {
		c.monitor.Writing()
		defer c.monitor.Written()
	}
	return c.conn.Write(p)
}

// returnToLoop returns to the connection's event loop, if its handler has left it.
func (c *connection) returnToLoop() {
	if c.away {
		c.away = false
		c.server.config.ReturnToLoop(c.conn)
	}
}

// interrupt ends a read that another goroutine has begun.
func (c *connection) interrupt() {
	c.reading.stale.Store(true)
	_ = c.conn.SetReadDeadline(past) // fails only if the connection has ended
}

// countSlow counts a client that was too slow. It returns err.
func (c *connection) countSlow(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.server.slow.Add(1)
	}
	return err
}

// remoteAddr returns the client's address as HOST:PORT.
func (c *connection) remoteAddr() string {
	if c.remote == "" {
		c.remote = c.conn.RemoteAddr().String()
	}
	return c.remote
}
