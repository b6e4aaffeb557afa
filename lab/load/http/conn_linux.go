package http

import (
	nethttp "net/http"
	"syscall"

	"golang.org/x/sys/unix"

	"weir/lab/load/http/response"
	"weir/lab/load/internal/raw"
)

type connState uint8

const (
	closed     connState = iota
	connecting           // with or without a request to send afterwards
	idle
	asking  // a request is being sent or answered
	ending  // answered; the server is to close it
	refused // closed; not tried again before retryAfter
)

// retryAfter is how long a connection of the closed loop that could not be made rests, in ns. It
// keeps a server that is away from being asked a hundred thousand times a second.
const retryAfter = int64(50e6)

// conn is a connection, or the place of one.
type conn struct {
	fd     int32 // -1 while there is none
	state  connState
	wants  bool  // has a request under way
	hangup bool  // the server will send nothing more
	next   int64 // number of its next request, in the open loop with keep-alive
	since  int64 // ns; when its state was entered: ending, refused, or connecting without a request

	at        int64 // ns; when the request under way was due, in the closed loop begun
	begun     int64 // ns; when it was begun, connecting included
	connected int64 // ns; when it could be sent
	first     int64 // ns; when the first byte of the answer came, 0 before
	written   int   // bytes of the request
	received  int64 // bytes of the answer
	answer    response.Parser
	body      body
}

// beginRequest begins a request on connection i, which is closed or idle.
func (l *loop) beginRequest(i int, at, now int64) {
	c := &l.conns[i]
	c.wants, c.at, c.begun, c.connected, c.first, c.written, c.received = true, at, now, now, 0, 0, 0
	c.answer.Begin(false)
	c.body.reset()
	l.busy++
	l.begun++
	if l.Window.Holds(now) {
		l.attempted++
	}
	if c.state == idle {
		c.state = asking
		l.send(i)
		return
	}
	l.connect(i, now)
}

// send writes what is left of connection i's request, as far as there is room.
func (l *loop) send(i int) {
	c := &l.conns[i]
	for c.written < len(l.request) {
		n, errno := raw.Write(c.fd, l.request[c.written:])
		switch {
		case errno == 0:
			if c.written += n; c.state == connecting {
				l.made(i, l.Clock.Now())
			}
		case errno == syscall.EINTR:
		case errno == syscall.EAGAIN:
			return
		case c.state == connecting:
			l.notConnected(i, l.Clock.Now(), errno)
			return
		default:
			l.broken(i, l.Clock.Now(), errno)
			return
		}
	}
}

// handle deals with what epoll says of connection i.
func (l *loop) handle(i int, events uint32) {
	c := &l.conns[i]
	if c.fd < 0 {
		return
	}
	c.hangup = c.hangup || events&(unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0
	if c.state == connecting && !l.completed(i) {
		return
	}
	if events&unix.EPOLLOUT != 0 && c.wants && c.written < len(l.request) {
		l.send(i)
	}
	if c.fd >= 0 && events&^unix.EPOLLOUT != 0 {
		l.receive(i)
	}
}

// receive reads what has come on connection i.
func (l *loop) receive(i int) {
	c := &l.conns[i]
	for fd := c.fd; c.fd == fd; {
		n, errno := raw.Read(fd, l.buffer)
		now := l.Clock.Now()
		switch {
		case errno == syscall.EINTR:
			continue
		case errno == syscall.EAGAIN:
			return
		case errno != 0:
			l.broken(i, now, errno)
			return
		case n == 0:
			l.eof(i, now)
			return
		}
		l.got(i, l.buffer[:n], now)
		if n < len(l.buffer) && !c.hangup {
			return
		}
	}
}

// got takes bytes of connection i.
func (l *loop) got(i int, in []byte, now int64) {
	c := &l.conns[i]
	if !c.wants {
		l.fail(i, now, kindProtocol, "bytes that nobody asked for")
		return
	}
	if c.first == 0 {
		c.first = now
	}
	c.received += int64(len(in))
	for len(in) > 0 && !c.answer.Done() {
		n, piece, err := c.answer.Feed(in)
		if err != nil {
			l.fail(i, now, kindProtocol, "%v", err)
			return
		}
		if len(piece) > 0 && c.answer.Status == nethttp.StatusOK {
			l.bodies.take(&c.body, piece, c.answer.Coding)
		}
		in = in[n:]
	}
	switch {
	case len(in) > 0:
		l.fail(i, now, kindProtocol, "bytes follow the end of the answer")
	case c.answer.Done():
		l.whole(i, now)
	}
}

// eof deals with the end of connection i by the server.
func (l *loop) eof(i int, now int64) {
	c := &l.conns[i]
	if !c.wants {
		l.shut(i)
		l.again = append(l.again, int32(i))
		return
	}
	c.hangup = true
	if err := c.answer.End(); err != nil {
		l.fail(i, now, kindClosed, "%v", err)
		return
	}
	l.whole(i, now)
}

// broken deals with an error of connection i.
func (l *loop) broken(i int, now int64, errno syscall.Errno) {
	c := &l.conns[i]
	kind := kindReset
	if errno == syscall.EPIPE {
		kind = kindClosed
	}
	if !c.wants {
		l.shut(i) // it was idle or at its end: nobody's answer was lost
		l.again = append(l.again, int32(i))
		return
	}
	l.fail(i, now, kind, "%v after %d bytes of the answer", errno, c.received)
}

// shut closes connection i.
func (l *loop) shut(i int) {
	c := &l.conns[i]
	if c.fd >= 0 {
		unix.Close(int(c.fd)) //nolint:errcheck // nothing is lost
		l.Alive.Add(-1)
	}
	c.fd, c.state = -1, closed
}
