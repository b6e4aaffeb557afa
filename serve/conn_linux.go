package serve

import (
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// conn is a connection of an event loop.
type conn struct {
	loop   *loop
	fd     int
	remote net.Addr
	driver driver

	// Owned by the loop.
	readable     bool // a read may return bytes
	endPending   bool // the end or an error can be read: no further edge will report it
	readDeferred bool // is in the loop's deferred reads
	broken       bool // was reset or failed otherwise: no further edge will report it
	noLinger     bool // the peer has finished or the connection is broken: no lingering close
	state        connState
	timer        timer
	idleCheck    *loopIdle // nil without Options.IdleTimeout

	// Shared with other goroutines.
	outbox         outbox
	posted         atomic.Bool // is in the loop's list of posts
	closeRequested atomic.Bool // Conn.Close was called
	hasOutput      atomic.Bool // some output was written
	goroutineID    atomic.Uint64
}

// connState is the phase of a connection's life. It only increases.
type connState int

const (
	connServing   connState = iota // the session or handler runs, or its last output is flushed
	connLingering                  // it has ended; the lingering close discards input
	connClosed                     // removed from the loop; its descriptor may be reused
)

// driver handles the events of a connection: a session, a coroutine or a lingering close. The
// loop's goroutine calls all methods.
type driver interface {
	onReadable()           // a read may return bytes; does nothing while the read is deferred
	onWritable()           // the kernel may take more output
	onTimer(now time.Time) // the connection's timer has expired
	onPost(now time.Time)  // Conn.Post was called
	end(err error)         // end the session or handler now
	handOver()             // hand the connection over now, if possible
}

// read reads once. It returns syscall.EAGAIN when there is nothing to read, and io.EOF at the end.
func (c *conn) read(p []byte) (int, error) {
	n, errno := rawRead(c.fd, p)
	switch {
	case errno == syscall.EAGAIN:
		c.readable = false
		return 0, syscall.EAGAIN
	case errno != 0:
		c.noLinger = true
		return 0, os.NewSyscallError("read", errno)
	case n == 0:
		c.noLinger = true
		return 0, io.EOF
	}
	if n < len(p) && !c.endPending {
		c.readable = false
	}
	if c.idleCheck != nil {
		c.idleCheck.transfers.Add(1)
	}
	c.loop.counters.reads.add(1)
	c.loop.counters.readBytes.add(int64(n))
	return n, nil
}

// tryWrite implements nonblockingWriter. The lock of c.out prevents that the descriptor is closed
// meanwhile.
func (c *conn) tryWrite(p []byte) (int, error) {
	n, errno := rawWrite(c.fd, p)
	if errno != 0 {
		return c.wrote(0, errno)
	}
	return c.wrote(n, nil)
}

// wrote implements nonblockingWriter.
func (c *conn) wrote(n int, err error) (int, error) {
	switch {
	case err == syscall.EAGAIN:
		return 0, nil
	case err != nil:
		return 0, os.NewSyscallError("write", err)
	}
	c.countWritten(n)
	return n, nil
}

// countWritten counts a write, on the loop or off it.
func (c *conn) countWritten(n int) {
	if !c.hasOutput.Load() {
		c.hasOutput.Store(true)
	}
	if c.idleCheck != nil {
		c.idleCheck.transfers.Add(1)
	}
	c.loop.counters.writes.Add(1)
	c.loop.counters.writtenBytes.Add(int64(n))
}

// close removes the connection from the loop. Its descriptor is closed at the end of the iteration.
func (c *conn) close() {
	if c.state == connClosed {
		return
	}
	c.state = connClosed
	c.outbox.close()
	c.unsetTimers()
	c.loop.conns[c.fd] = nil
	c.loop.openConns--
	c.loop.connCount.Add(-1)
	c.loop.closingFDs = append(c.loop.closingFDs, c.fd)
	c.loop.counters.closed.add(1)
}

func (c *conn) unsetTimers() {
	c.loop.timers.remove(&c.timer)
	if c.idleCheck != nil {
		c.loop.timers.remove(&c.idleCheck.timer)
	}
}

// started implements Go.
func (c *conn) started() { c.loop.mustYield.Store(true) }

// Send implements Conn. It reports whether the bytes were written or queued.
func (c *conn) Send(p []byte) bool {
	return c.afterSend(c.outbox.put(p, c, c.loop.options.SendQueue))
}

// output implements batchConn.
func (c *conn) output() (*outbox, nonblockingWriter, int) {
	return &c.outbox, c, c.loop.options.SendQueue
}

// afterSend implements batchConn, and reports whether the bytes were taken.
func (c *conn) afterSend(taken bool) bool {
	if !taken {
		c.loop.counters.sendsRefused.Add(1)
	}
	return taken
}

// Post implements Conn.
func (c *conn) Post() { c.loop.post(c) }

// Close implements Conn.
func (c *conn) Close() {
	c.closeRequested.Store(true)
	c.loop.post(c)
}

// RemoteAddr implements Conn.
func (c *conn) RemoteAddr() net.Addr { return c.remote }
