package stackload

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"

	"weir/lab/internal/oneloop"
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

// Connect starts to open connection i.
func (l *loop) Connect(i int) {
	c := &l.conns[i]
	now := l.Clock.Now()
	if l.Operation == Connect {
		l.countBusy(c)
	}
	fd, err := l.Dial(i, func(fd int) error { return setCongestion(fd, l.Congestion) })
	if err != nil {
		l.notConnected(i, err)
		return
	}
	*c = conn{fd: fd, state: connecting, queued: c.queued, counted: c.counted, value: c.value, startedAt: now, lastProgressAt: now}
	l.Alive.Add(1)
}

// Handle handles epoll events of connection i.
func (l *loop) Handle(i int, events uint32) {
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
	l.task.opened(i)
}

// notConnected handles the failure to open connection i.
func (l *loop) notConnected(i int, err error) {
	l.fail(i, l.NotConnected(err), "no connection: %v", err)
}

// connectionError handles an error of connection i.
func (l *loop) connectionError(i int, errno syscall.Errno) {
	l.fail(i, oneloop.ErrorKind(errno), "connection %d: %v", i, errno)
}

// fail counts an error of connection i and closes it. It is tried again after retryAfter.
func (l *loop) fail(i int, kind, detail string, args ...any) {
	l.NotConnected(fmt.Errorf(kind+": "+detail, args...))
	l.Failed.Add(1)
	l.Failures.Add(kind, 1, detail, args...)
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
