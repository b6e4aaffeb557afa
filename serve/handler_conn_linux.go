package serve

import (
	"errors"
	"net"
	"os"
	"syscall"
	"time"
)

// errNotHandler is the error of a Read or Write by another goroutine while the handler waits.
var errNotHandler = errors.New("serve: on an event loop only the handler may read and write its connection: see OffLoop")

// Read implements net.Conn.
func (c *handlerConn) Read(p []byte) (int, error) { return c.readSome(p, false, true) }

// TryRead implements [TryRead].
func (c *handlerConn) TryRead(p []byte) (int, error) { return c.readSome(p, false, false) }

// NetConn returns the connection for reads that a stop does not end.
func (c *handlerConn) NetConn() net.Conn { return beyondStop{c} }

// beyondStop is a handler's connection whose reads a stop does not end.
type beyondStop struct{ *handlerConn }

// Read implements net.Conn.
func (c beyondStop) Read(p []byte) (int, error) { return c.readSome(p, true, true) }

// TryRead implements [TryRead].
func (c beyondStop) TryRead(p []byte) (int, error) { return c.readSome(p, true, false) }

// readSome reads what arrives first, or, unless it waits, what has arrived. During a stop it
// returns ErrStopped when nothing has arrived, unless it goes on.
func (c *handlerConn) readSome(p []byte, goesOn, waits bool) (int, error) {
	if o := c.off.Load(); o != nil {
		return o.read(p, goesOn, waits)
	}
	if c.suspended.Load() {
		return 0, errNotHandler
	}
	for {
		if err := c.checkUsable(c.readLimit(waits)); err != nil || len(p) == 0 {
			return 0, err
		}
		if c.readable {
			if err := c.shareLoop(); err != nil {
				return 0, err
			}
			n, err := c.read(p)
			if err != syscall.EAGAIN {
				return n, err
			}
		}
		if c.isStopping() && !goesOn {
			return 0, ErrStopped
		}
		if !waits {
			return 0, syscall.EAGAIN
		}
		if c.coroutine == nil && c.leaveLoop() {
			return c.off.Load().read(p, goesOn, true)
		}
		if err := c.wait(waitRead, 0); err != nil {
			return 0, err
		}
	}
}

// readLimit returns the deadline of a read, in loop time; 0: none. For a read that does not wait,
// what has arrived is in time. After the connection's end, readable belongs to the loop alone.
func (c *handlerConn) readLimit(waits bool) int64 {
	if !waits && !c.closed.Load() && c.readable {
		return 0
	}
	return c.readDeadline.Load()
}

// Write implements net.Conn.
func (c *handlerConn) Write(p []byte) (int, error) {
	if o := c.off.Load(); o != nil {
		return o.write(p)
	}
	if c.suspended.Load() {
		return 0, errNotHandler
	}
	done := 0
	for {
		if err := c.checkUsable(c.writeDeadline.Load()); err != nil || len(p) == done {
			return done, err
		}
		n, err := c.tryWrite(p[done:])
		c.noLinger = c.noLinger || err != nil
		if done += n; err != nil || done == len(p) {
			return done, err
		}
		switch {
		case n > 0:
			err = c.shareLoop()
		case c.coroutine == nil && c.leaveLoop():
			n, err = c.off.Load().write(p[done:])
			return done + n, err
		default:
			err = c.wait(waitWrite, 0)
		}
		if err != nil {
			return done, err
		}
	}
}

// checkUsable returns why no read or write is possible any more, or nil. by is its deadline.
func (c *handlerConn) checkUsable(by int64) error {
	switch {
	case c.closed.Load():
		return net.ErrClosed
	case c.endErr != nil:
		return c.endErr
	case by != 0 && c.loop.now() >= by:
		return os.ErrDeadlineExceeded
	}
	return nil
}

// Close implements net.Conn, for any goroutine. A handler that runs sees it at its next call, and
// the connection ends when the handler returns or goes off the loop.
func (c *handlerConn) Close() error {
	if c.closed.Swap(true) {
		return net.ErrClosed
	}
	if o := c.off.Load(); o != nil {
		o.fail(net.ErrClosed)
		c.loop.post(c.conn)
		return nil
	}
	c.revise()
	return nil
}

// revise makes a handler that waits take notice of what was set.
func (c *handlerConn) revise() {
	if o := c.off.Load(); o != nil {
		tryAgain(o.readable)
		tryAgain(o.writable)
	} else if c.suspended.Load() {
		c.loop.post(c.conn)
	}
}

// LocalAddr implements net.Conn, for any goroutine. It returns nil after the end.
func (c *handlerConn) LocalAddr() net.Addr {
	c.outbox.mu.Lock() // the descriptor is closed after the outbox
	defer c.outbox.mu.Unlock()
	if c.outbox.closed {
		return nil
	}
	sa, err := syscall.Getsockname(c.fd)
	if err != nil {
		return nil
	}
	return address(sa)
}

// CloseWrite shuts the connection down for writing, for any goroutine.
func (c *handlerConn) CloseWrite() (err error) {
	gone := descriptor{c.conn}.Control(func(fd uintptr) {
		err = os.NewSyscallError("shutdown", syscall.Shutdown(int(fd), syscall.SHUT_WR))
	})
	return errors.Join(gone, err)
}

// SyscallConn implements syscall.Conn, for any goroutine. Of the result only Control works.
func (c *handlerConn) SyscallConn() (syscall.RawConn, error) { return descriptor{c.conn}, nil }

// descriptor is a connection's descriptor for calls that do not wait.
type descriptor struct{ conn *conn }

// Control implements syscall.RawConn. The descriptor is not closed meanwhile.
func (d descriptor) Control(f func(fd uintptr)) error {
	b := &d.conn.outbox
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return net.ErrClosed
	}
	f(uintptr(d.conn.fd))
	return nil
}

// Read implements syscall.RawConn.
func (descriptor) Read(func(uintptr) bool) error { return errors.ErrUnsupported }

// Write implements syscall.RawConn.
func (descriptor) Write(func(uintptr) bool) error { return errors.ErrUnsupported }

// SetDeadline implements net.Conn, for any goroutine.
func (c *handlerConn) SetDeadline(t time.Time) error {
	c.readDeadline.Store(c.loop.deadline(t))
	return c.SetWriteDeadline(t)
}

// SetReadDeadline implements net.Conn, for any goroutine.
func (c *handlerConn) SetReadDeadline(t time.Time) error {
	c.readDeadline.Store(c.loop.deadline(t))
	c.revise()
	return nil
}

// SetWriteDeadline implements net.Conn, for any goroutine.
func (c *handlerConn) SetWriteDeadline(t time.Time) error {
	c.writeDeadline.Store(c.loop.deadline(t))
	c.revise()
	return nil
}
