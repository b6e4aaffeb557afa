package stackload

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"weir/lab/internal/oneloop"
	"weir/lab/internal/raw"
)

// connState is the state of a connection.
type connState uint8

const (
	closed     connState = iota // not open
	connecting                  // being opened
	open                        // in use by the operation
	ending                      // shut down here; waits for the stack's end of stream
	refused                     // failed; retried after retryAfter
)

// retryAfter is the time in ns before a failed connection is tried again. It limits the attempts on
// a stack that refuses connections.
const retryAfter = int64(50e6)

// conn is a connection, or a slot for one.
type conn struct {
	fd             int32 // -1: not open
	state          connState
	queued         bool  // in loop.runQueue
	counted        bool  // in loop.busy
	asked          bool  // rr and idle: a byte is under way
	value          byte  // the byte
	startedAt      int64 // ns; start of the operation
	lastProgressAt int64 // ns; start of the state, or of the last progress
	written        int64 // bytes
}

// connectAll opens the connections before the load starts, at most atOnce at a time. For connect
// there are none.
func (l *loop) connectAll() error {
	if l.Operation == Connect {
		return nil
	}
	progress, made := l.Clock.Now(), int64(0)
	for begun := 0; l.readyCount < int64(len(l.conns)); {
		for ; begun < len(l.conns) && int64(begun)-l.readyCount < maxConnecting && l.dialErr == nil; begun++ {
			l.connect(begun)
		}
		l.turnOnce(l.Clock.Now() + oneloop.Nap)
		now := l.Clock.Now()
		if l.readyCount > made {
			progress, made = now, l.readyCount
		}
		switch {
		case l.Stop.Load():
			return context.Canceled
		case l.dialErr != nil:
			return raw.DialError(l.Config.server(), l.dialErr)
		case now-progress > int64(min(l.Timeout, raw.DialTimeout)):
			return raw.DialError(l.Config.server(), os.ErrDeadlineExceeded)
		}
	}
	return nil
}

// connect starts to open connection i.
func (l *loop) connect(i int) {
	c := &l.conns[i]
	now := l.Clock.Now()
	fd, err := l.server.Socket()
	if err != nil {
		l.notConnected(i, err)
		return
	}
	*c = conn{fd: int32(fd), state: connecting, queued: c.queued, value: c.value, startedAt: now, lastProgressAt: now}
	l.Alive.Add(1)
	if l.Operation == Connect {
		l.countBusy(c)
	}
	if err = setCongestion(fd, l.Congestion); err == nil {
		err = l.server.Connect(fd)
	}
	if err == nil {
		err = l.poll.Add(fd, i)
	}
	if err != nil {
		l.notConnected(i, err)
	}
}

// handle handles epoll events of connection i.
func (l *loop) handle(i int, events uint32) {
	c := &l.conns[i]
	if c.fd < 0 {
		return
	}
	if c.state == connecting {
		if events&(unix.EPOLLOUT|unix.EPOLLERR|unix.EPOLLHUP) == 0 {
			return
		}
		// without an error event it is open, and no system call is needed to know that
		if events&(unix.EPOLLERR|unix.EPOLLHUP) != 0 {
			if err := oneloop.Connected(int(c.fd)); err != nil {
				l.notConnected(i, err)
				return
			}
		}
		l.connectionOpened(i)
	}
	if c.fd >= 0 {
		l.task.turn(i, events)
	}
}

// connectionOpened records that connection i is open.
func (l *loop) connectionOpened(i int) {
	c := &l.conns[i]
	now := l.Clock.Now()
	l.opened++
	if l.Start.Load() == 0 || l.Window.Holds(now) {
		l.connects.Record(now - c.startedAt)
	}
	c.state, c.lastProgressAt = open, now
	// Without Nagle's algorithm small segments are sent at once. If this fails the connection is
	// broken, and its next use returns the error.
	unix.SetsockoptInt(int(c.fd), unix.IPPROTO_TCP, unix.TCP_NODELAY, 1) //nolint:errcheck // see above
	l.task.opened(i)
}

// notConnected handles the failure to open connection i.
func (l *loop) notConnected(i int, err error) {
	kind := kindConnect
	for _, own := range []error{unix.EMFILE, unix.ENFILE, unix.EADDRNOTAVAIL, unix.ENOBUFS, unix.ENOMEM} {
		if errors.Is(err, own) {
			kind = kindLocal
		}
	}
	if l.Start.Load() == 0 {
		l.dialErr = err
	}
	l.fail(i, kind, "no connection: %v", err)
}

// connectionError handles an error of connection i.
func (l *loop) connectionError(i int, errno syscall.Errno) {
	kind := kindReset
	if errno == syscall.EPIPE {
		kind = kindClosed
	}
	if errno == syscall.ETIMEDOUT {
		kind = kindTimeout
	}
	l.fail(i, kind, "connection %d: %v", i, errno)
}

// fail counts an error of connection i and closes it. It is tried again after retryAfter.
func (l *loop) fail(i int, kind, detail string, args ...any) {
	if l.Start.Load() == 0 && l.dialErr == nil {
		l.dialErr = fmt.Errorf(kind+": "+detail, args...)
	}
	l.Failed.Add(1)
	l.fails.Add(kind, 1, detail, args...)
	l.closeConn(i)
	c := &l.conns[i]
	c.state, c.lastProgressAt = refused, l.Clock.Now()
}

// countBusy counts an operation of connection c that will end.
func (l *loop) countBusy(c *conn) {
	if !c.counted {
		c.counted = true
		l.busy++
	}
}

// closeConn closes connection i.
func (l *loop) closeConn(i int) {
	c := &l.conns[i]
	if c.counted {
		c.counted = false
		l.busy--
	}
	if c.fd >= 0 {
		if l.Operation != Connect && l.Operation != Idle {
			l.readOne(c, &l.closedTotals)
		}
		unix.Close(int(c.fd)) //nolint:errcheck // nothing is lost
		l.Alive.Add(-1)
	}
	c.fd, c.state = -1, closed
}
