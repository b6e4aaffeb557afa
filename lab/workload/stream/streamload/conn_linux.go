package streamload

import (
	"bytes"
	"syscall"

	"golang.org/x/sys/unix"

	"weir/lab/internal/oneloop"
	"weir/lab/internal/raw"
	"weir/lab/internal/schedule"
)

// conn is a connection.
type conn struct {
	fd   int32 // -1: not open
	open bool
	lost bool // closed early
	// of the first message that is not sent whole; with bits, at is when the oldest owed write was
	// due
	next       schedule.Moment
	sentBytes  int64 // bytes sent
	owedBytes  int64 // bytes due and not yet sent
	lastSentAt int64 // ns; when the last message was sent, 0 before the first
	blocked    bool  // waits to become writable

	awaited       schedule.Moment // first message whose echo is not complete
	receivedBytes int64           // bytes received
	mismatched    bool            // a wrong byte was received: later bytes are not checked
}

// Connect implements oneloop.Loop.
func (l *loop) Connect(i int) {
	fd, err := l.Dial(i, nil)
	if l.conns[i].fd = fd; err != nil {
		l.NotConnected(err)
	}
}

// Handle handles epoll events of connection i.
func (l *loop) Handle(i int, events uint32) {
	c := &l.conns[i]
	if !c.open {
		if err := oneloop.Connected(int(c.fd)); err != nil {
			l.NotConnected(err)
			return
		}
		c.open = true
		if l.ReadyOnes++; i < l.Connections {
			l.Alive.Add(1)
		}
	}
	if c.blocked && events&unix.EPOLLOUT != 0 && !l.owedCounted {
		l.flush(i, l.Clock.Now())
	}
	if events&^unix.EPOLLOUT != 0 && !c.lost {
		l.receive(i, events&(unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0)
	}
}

// receive reads the input of connection i, to its end if the server has shut down the connection.
func (l *loop) receive(i int, last bool) {
	for c := &l.conns[i]; ; {
		n, errno := raw.Receive(c.fd, l.buffer)
		switch {
		case errno == syscall.EINTR:
			continue
		case errno == syscall.EAGAIN:
			return
		case errno != 0 || n == 0:
			l.lose(i, errno)
			return
		case !l.Echo || i >= l.Connections || c.mismatched:
			l.discarded += int64(n)
		default:
			l.check(i, l.buffer[:n])
		}
		if n < len(l.buffer) && !last {
			return // later input is a new event
		}
	}
}

// check compares the input of connection i with what was sent, and records the latency of each
// message that it completes.
func (l *loop) check(i int, got []byte) {
	c, now := &l.conns[i], l.Clock.Now()
	want := l.payload.at(i, c.receivedBytes, len(got))
	if !bytes.Equal(got, want) {
		at := 0
		for got[at] == want[at] {
			at++
		}
		c.mismatched = true
		l.Failures.Add("wrong byte", 1, "connection %d: byte %d of its echo is %q, want %q", i, c.receivedBytes+int64(at), got[at], want[at])
		return
	}
	whole := c.receivedBytes / int64(l.Size)
	c.receivedBytes += int64(len(got))
	for range c.receivedBytes/int64(l.Size) - whole {
		if l.Window.Holds(c.awaited.At) {
			l.Answered++
			l.Latency.Record(now - c.awaited.At)
		}
		c.awaited = l.schedule.After(i, c.awaited)
	}
}

// lose counts the loss of connection i. Errno 0 means that the server closed it.
func (l *loop) lose(i int, errno syscall.Errno) {
	c := &l.conns[i]
	l.owed += l.owedMessages(i)
	c.lost, c.owedBytes = true, 0
	l.setBlocked(c, false)
	kind := "closed early"
	switch errno {
	case 0, syscall.EPIPE:
	case syscall.ECONNRESET:
		kind = "connection reset"
	default:
		kind = errno.Error()
	}
	if i >= l.Connections {
		l.Failures.Add("idle "+kind, 1, "idle connection %d: %s", i-l.Connections, kind)
		return
	}
	l.Failures.Add(kind, 1, "connection %d: %s when %d messages had been sent on all", i, kind, l.Done.Load())
	if l.Alive.Add(-1) == 0 && !l.IsOver {
		l.Err = oneloop.ErrAllLost
	}
}

// complete reports whether no further echo can arrive.
func (l *loop) complete() bool {
	for i := range l.Connections {
		if c := &l.conns[i]; !c.lost && !c.mismatched && c.receivedBytes < c.sentBytes {
			return false
		}
	}
	return true
}

// countMissing counts missing and surplus bytes of echoes.
func (l *loop) countMissing() {
	for i := range l.Connections {
		c := &l.conns[i]
		switch missing := c.sentBytes - c.receivedBytes; {
		case c.mismatched || missing == 0:
		case missing < 0:
			l.Failures.Add("echo too long", 1, "connection %d: %d bytes were received and only %d were sent", i, c.receivedBytes, c.sentBytes)
		default:
			n := (missing + int64(l.Size) - 1) / int64(l.Size)
			l.Failures.Add("echo missing", n, "connection %d: %d of %d bytes were not echoed within 2 s of the last send", i, missing, c.sentBytes)
		}
	}
}
