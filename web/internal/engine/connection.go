package engine

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"time"

	"weir/web/http1"
)

// connection is an HTTP/1 connection. One goroutine owns it.
type connection struct {
	server  *Server
	conn    net.Conn
	tls     *tls.ConnectionState // nil: plain
	place   Place                // nil: there is no one to notify
	remote  string               // the client's address; "" until it is asked for
	scanner http1.Scanner
	reading timing
	writing timing
	x       *exchange // the request in progress; nil while the connection is idle
	// The connection within conn, which another goroutine may read while the owner does not. Nil:
	// only the owner may read.
	inner net.Conn
}

// serve answers requests until the connection ends.
func (c *connection) serve() {
	defer c.release()
	for first := true; c.readHead(first) && c.x.run(); first = false {
		if c.x.start == len(c.x.in) {
			c.release()
		}
	}
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
	if cap(x.in) <= maxKeptBuffer {
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
	for scanned, before := 0, c.scanner.Requests(); ; {
		for scanned < len(x.in) {
			n, _, v := c.scanner.Step(x.in[scanned:])
			scanned += n
			switch {
			case v != nil:
				x.reject(v)
				return false
			case c.scanner.Requests() > before || c.scanner.InBody():
				x.headEnd = scanned
				return true
			case c.scanner.Between(): // an empty line before the request
				x.start = scanned
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
	if place := x.conn.place; idle && place != nil {
		place.Idle()
		defer place.Asked()
	}
	return x.fill()
}

// fill reads more input behind x.in. A deadline that has passed is an error.
func (x *exchange) fill() error {
	c := x.conn
	x.makeRoom()
	for {
		if err := c.reading.arm(c.conn.SetReadDeadline); err != nil {
			return err
		}
		n, err := c.conn.Read(x.in[len(x.in):cap(x.in)])
		x.in = x.in[:len(x.in)+n]
		switch {
		case n > 0:
			return nil
		case err == nil:
			return io.ErrNoProgress
		case !c.reading.again(err, time.Now()):
			return c.countSlow(err)
		}
	}
}

// maxWrite is the number of bytes that are given to the connection at once. A deadline that passes
// within a write over TLS breaks the connection, so each write has the time for so many bytes.
const maxWrite = 64 << 10

// write sends p, within the time that the client has to take it.
func (c *connection) write(p []byte) (sent int, err error) {
	for len(p) > sent {
		part := p[sent:min(len(p), sent+maxWrite)]
		if err := c.armWrite(len(part)); err != nil {
			return sent, err
		}
		n, err := c.conn.Write(part)
		if sent += n; err != nil && !c.writing.again(err, time.Now()) {
			return sent, c.countSlow(err)
		}
	}
	return sent, nil
}

// countSlow counts a client that was too slow. It returns err.
func (c *connection) countSlow(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.server.slow.Add(1)
	}
	return err
}

// armWrite sets the write deadline for n bytes.
func (c *connection) armWrite(n int) error {
	config := &c.server.config
	allowed := config.SlowTransferGrace
	if allowed > 0 && config.MinRate > 0 {
		allowed = max(allowed, time.Duration(float64(n)/float64(config.MinRate)*1e9))
	}
	c.writing.limit(time.Now(), allowed)
	if c.tls != nil {
		c.writing.armed = time.Time{} // a write over TLS may not be cut short by an older deadline
	}
	return c.writing.arm(c.conn.SetWriteDeadline)
}

// remoteAddr returns the client's address as HOST:PORT.
func (c *connection) remoteAddr() string {
	if c.remote == "" {
		c.remote = c.conn.RemoteAddr().String()
	}
	return c.remote
}
