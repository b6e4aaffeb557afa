package tcpip

import (
	"io"
	"net"
	"net/netip"
	"syscall"

	"weir/tcpip/tcp"
)

// The methods of this file never wait: see ReadyQueue. Without data, room or a connection they
// return syscall.EAGAIN itself, which takes no memory. They are not for a connection that another
// goroutine reads or writes at the same time.

// TryRead is Read without waiting.
func (c *Conn) TryRead(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.readWaiter.readBuf != nil || c.readWaiter.readCount > 0 {
		return 0, syscall.EAGAIN // a Read has what arrives
	}
	n, _, err := c.takeLocked(p, (*tcp.Conn).Read)
	if n == 0 && err == nil && len(p) > 0 {
		err = syscall.EAGAIN
	}
	return n, c.wrapTry("read", err)
}

// TryWrite is Write without waiting: it returns how many bytes there was room for, and EAGAIN if
// that is not all of p. The connection is ready to write when there is room again.
func (c *Conn) TryWrite(p []byte) (int, error) {
	n, _, err := c.writeSome(p, false, false)
	if n < len(p) && err == nil {
		err = syscall.EAGAIN
	}
	return n, c.wrapTry("write", err)
}

// wrapTry is wrap, but for EAGAIN.
func (c *Conn) wrapTry(op string, err error) error {
	if err == syscall.EAGAIN || err == io.EOF {
		return err
	}
	return c.wrap(op, err)
}

// TryAccept is AcceptTCP without waiting.
func (l *Listener) TryAccept() (*Conn, error) {
	select {
	case c := <-l.acceptQueue:
		l.release(c.client)
		return c, nil
	default:
	}
	select {
	case <-l.done:
		return nil, &net.OpError{Op: "accept", Net: "tcp", Addr: l.Addr(), Err: net.ErrClosed}
	default:
		return nil, syscall.EAGAIN
	}
}

// TryRead is ReadFromUDPAddrPort without waiting.
func (u *UDPConn) TryRead(p []byte) (n int, from netip.AddrPort, err error) {
	d, _, ok, err := u.tryRead()
	switch {
	case err != nil:
		return 0, from, u.wrap("read", err)
	case !ok:
		return 0, from, syscall.EAGAIN
	}
	return copy(p, d.payload), d.from, nil
}

// setReady implements Source.
func (c *Conn) setReady(r *readySource) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closedByApp:
		return net.ErrClosed
	case c.session != nil:
		return errHasOwner
	}
	return setReadyOnce(&c.ready, r)
}

// removeReady implements Source.
func (c *Conn) removeReady(q *ReadyQueue) {
	c.mu.Lock()
	defer c.mu.Unlock()
	removeReadyOf(&c.ready, q)
}

// setReady implements Source.
func (l *Listener) setReady(r *readySource) error {
	l.handoverMu.Lock()
	defer l.handoverMu.Unlock()
	select {
	case <-l.done:
		return net.ErrClosed
	default:
		return setReadyOnce(&l.ready, r)
	}
}

// removeReady implements Source.
func (l *Listener) removeReady(q *ReadyQueue) {
	l.handoverMu.Lock()
	defer l.handoverMu.Unlock()
	removeReadyOf(&l.ready, q)
}

// setReady implements Source.
func (u *UDPConn) setReady(r *readySource) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closed {
		return net.ErrClosed
	}
	return setReadyOnce(&u.ready, r)
}

// removeReady implements Source.
func (u *UDPConn) removeReady(q *ReadyQueue) {
	u.mu.Lock()
	defer u.mu.Unlock()
	removeReadyOf(&u.ready, q)
}

// setReadyOnce sets the entry of a source in a queue. A source is in one queue at a time.
func setReadyOnce(field **readySource, r *readySource) error {
	if *field != nil {
		return errQueued
	}
	*field = r
	return nil
}

// removeReadyOf removes the entry of a source in a queue, if it is in that queue.
func removeReadyOf(field **readySource, q *ReadyQueue) {
	if *field != nil && (*field).queue == q {
		*field = nil
	}
}
