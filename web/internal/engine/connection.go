package engine

import (
	"crypto/tls"
	"errors"
	"net"
	"os"
	"sync/atomic"
	"syscall"

	"weir/serve"
	"weir/web/http1"
)

// Conn is an HTTP/1 connection. It implements [serve.Responder]: a turn answers the requests that
// have arrived. One goroutine at a time owns it.
type Conn struct {
	server  *Server
	conn    net.Conn
	tls     *tls.ConnectionState // nil: plain
	monitor Monitor              // nil: there is none
	remote  string               // the client's address; "" until it is asked for
	scanner http1.Scanner
	head    headProgress
	inTurns bool // reads of a head do not wait
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

// exchangesPerTurn is how many requests one connection gets answered before the other connections
// of its event loop have their turn.
const exchangesPerTurn = 16

// Respond implements [serve.Responder].
func (c *Conn) Respond() serve.Next {
	for range exchangesPerTurn {
		switch err := c.readHead(); {
		case err == syscall.EAGAIN:
			if c.x.start == len(c.x.in) {
				c.release()
			}
			return serve.Wait
		case err != nil || !c.x.run():
			return serve.End
		}
	}
	return serve.Again
}

// Close implements [serve.Responder]. It ends the connection, also if its handler has called
// runtime.Goexit. Such a handler may have left goroutines that use the exchange.
func (c *Conn) Close() {
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
func (c *Conn) borrow() *exchange {
	if c.x == nil {
		c.x = c.server.exchanges.Get().(*exchange)
		c.x.conn = c
	}
	return c.x
}

// release returns the exchange to the server.
func (c *Conn) release() {
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

// write sends p. A client that does not take it is the Monitor's concern.
func (c *Conn) write(p []byte) (sent int, err error) {
	if len(p) == 0 {
		return 0, nil
	}
	if c.monitor != nil {
		c.monitor.Writing()
		defer c.monitor.Written()
	}
	return c.conn.Write(p)
}

// sendFile is [serve.SendFile] with the Monitor.
func (c *Conn) sendFile(f *os.File, offset, n int64) (sent int64, err error) {
	if c.monitor != nil {
		c.monitor.Writing()
		defer c.monitor.Written()
	}
	return serve.SendFile(c.conn, f, offset, n)
}

// splice is [serve.Splice] with the Monitor.
func (c *Conn) splice(from serve.SpliceSource, n int64) (sent int64, err error) {
	if c.monitor != nil {
		c.monitor.Writing()
		defer c.monitor.Written()
	}
	return serve.Splice(c.conn, from, n)
}

// returnToLoop returns to the connection's event loop, if its handler has left it.
func (c *Conn) returnToLoop() {
	if c.away {
		c.away = false
		c.server.config.ReturnToLoop(c.conn)
	}
}

// interrupt ends a read that another goroutine has begun.
func (c *Conn) interrupt() {
	c.reading.stale.Store(true)
	_ = c.conn.SetReadDeadline(past) // fails only if the connection has ended
}

// countSlow counts a client that was too slow. It returns err.
func (c *Conn) countSlow(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.server.slow.Add(1)
	}
	return err
}

// remoteAddr returns the client's address as HOST:PORT.
func (c *Conn) remoteAddr() string {
	if c.remote == "" {
		c.remote = c.conn.RemoteAddr().String()
	}
	return c.remote
}
