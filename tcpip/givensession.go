package tcpip

import (
	"errors"
	"net"
	"syscall"
	"time"

	"weir/serve"
	"weir/serve/lifecycle"
	"weir/tcpip/tcp"
)

// NewServer returns a server without a listener: TCPRequest.Serve and Conn.Serve give it
// connections. Options are those of Stack.Serve.
func (s *Stack) NewServer(o serve.Options) *Server {
	setDefault(&o.ReadSize, 4096)
	setDefault(&o.SendQueue, 256<<10)
	setDefault(&o.FlushTimeout, 30*time.Second)
	setDefault(&o.LingerTimeout, 2*time.Second)
	return &Server{s: s, o: o}
}

// Taker is a session that may take a part of its input, such as one that passes it on without a
// buffer of its own.
type Taker interface {
	serve.Session
	// Take is called instead of Input, also while the session's output waits. Its input comes in up
	// to 16 pieces, each at least one byte, which are valid until Take returns; Options.ReadSize
	// does not limit it. Take may change the slice of pieces, as net.Buffers does. It returns how
	// many bytes it has taken. If these are not all, input is paused: Take is called again, with
	// the rest first, after Wake. Errors have the meaning of Input's.
	Take(pieces [][]byte) (n int, err error)
}

// CloseWriter is implemented by the serve.Conn of a session that the stack runs, and by *Conn: it
// ends the output alone, and the input goes on.
type CloseWriter interface {
	CloseWrite() error
}

// maxTaken is the largest number of pieces that Take gets at once.
const maxTaken = 16

var errOtherStack = errors.New("the server is another stack's: make one by NewServer of the connection's")

var errHasOwner = errors.New("the connection has a session, or is in a ReadyQueue: use a connection that has neither")

// Serve has a session serve an established connection, from now on instead of the caller. open is
// called by the goroutine that will call the session, and must not block. After an error the
// connection is still the caller's.
func (c *Conn) Serve(v *Server, open func(serve.Conn) serve.Session) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closedByApp:
		return c.wrap("serve", net.ErrClosed)
	case v.s != c.s:
		return c.wrap("serve", errOtherStack)
	case v.stopping.Load():
		return c.wrap("serve", serve.ErrStopped)
	case c.session != nil || c.ready != nil:
		return c.wrap("serve", errHasOwner)
	}
	c.session = v.newSession(c, open)
	c.reader.queueConn(c)
	return nil
}

// Serve accepts the connection and has a session serve it. It does not wait: the session is opened
// before the handshake is complete, and closed with an error if that fails. open is called by the
// goroutine that will call the session, and must not block. After an error, which Accept may have
// too, it is not called.
func (r *TCPRequest) Serve(v *Server, open func(serve.Conn) serve.Session) error {
	switch {
	case v.s != r.reader.s:
		return opError("serve", "tcp", errOtherStack)
	case v.stopping.Load():
		return opError("serve", "tcp", serve.ErrStopped)
	}
	c, err := r.open(func(c *Conn) { c.session = v.newSession(c, open) })
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.flushLocked(c.s.now())
	c.reader.queueConn(c)
	return nil
}

// takeInputLocked gives a Taker the input that there is, and removes what it has taken. The caller
// holds the connection's lock, which is released during the call.
func (v *sessionConn) takeInputLocked(now tcp.Time, f lifecycle.Facts) {
	pieces := v.c.tcp.AppendRows(v.c.reader.pieces[:0], maxTaken)
	given, n := 0, 0
	for _, p := range pieces {
		given += len(p)
	}
	v.inputGiven = given
	err := v.call(func() (err error) { n, err = v.taker.Take(pieces); return err })
	clear(v.c.reader.pieces[:])
	n = min(max(n, 0), given)
	v.c.tcp.Discard(now, n)
	v.inputGiven = 0
	v.life.Took(n)
	v.applyResult(now, lifecycle.Read, f, n < given, err)
}

// resetsPeer reports whether a session's error asks for a reset of its connection.
func resetsPeer(err error) bool { return errors.Is(err, syscall.ECONNRESET) }
