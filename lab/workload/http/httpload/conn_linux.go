package httpload

import (
	"syscall"

	"golang.org/x/sys/unix"

	"weir/lab/internal/oneloop"
	"weir/lab/internal/raw"
	"weir/lab/internal/schedule"
	"weir/lab/internal/tlsclient"
	"weir/lab/workload/http/httpload/h2"
	"weir/lab/workload/http/httpload/response"
	"weir/lab/workload/http/httpload/unary"
)

// connState is the state of a connection.
type connState uint8

const (
	closed      connState = iota // not open
	connecting                   // being opened, with or without a request to send afterwards
	idle                         // open, without a request
	handshaking                  // the TCP connection is open, TLS is being negotiated
	asking                       // a request is being sent or its response received
	ending                       // the response is complete, and the server should close
	refused                      // could not be opened; retried after retryAfter
)

// retryAfter is the time in ns before a connection of the closed loop that failed to open is tried
// again. It limits the attempts on a server that is down.
const retryAfter = int64(50e6)

// conn is a connection, or a slot for one.
type conn struct {
	fd         int32 // -1: not open
	state      connState
	hasRequest bool            // a request is under way
	hangup     bool            // the server will send nothing more
	stateSince int64           // ns; start of the state connecting, handshaking, ending or refused
	tls        *tlsclient.Conn // nil: plain, or the TCP connection is not yet open

	// in the open loop with keep-alive
	next     schedule.Moment // its next request, which is not started
	dueCount uint64          // number of its requests that became due, started or not

	dueAt       int64     // ns; due time of the request under way; in the closed loop its start
	startedAt   int64     // ns; start of the request, connecting included
	connectedAt int64     // ns; time at which the connection was open, for TLS with its handshake
	firstByteAt int64     // ns; time of the first byte of the response; 0: not received
	request     *prepared // under way, or the last one
	stream      uint32    // of HTTP/2
	written     int       // bytes sent of the request
	received    int64     // bytes received of the response
	answer      response.Parser
	body        body
	call        unary.Answer // of gRPC
	trailer     h2.Trailer   // of HTTP/2
}

// beginRequest starts the request r on connection i, which must be closed or idle.
func (l *loop) beginRequest(i int, r *prepared, at, now int64) {
	c := &l.conns[i]
	c.request = r
	c.hasRequest, c.dueAt, c.startedAt, c.connectedAt, c.firstByteAt, c.written, c.received = true, at, now, now, 0, 0, 0
	c.answer.Share(&r.known)
	c.answer.Begin(r.isHead())
	c.body.reset()
	c.call, c.trailer = unary.Answer{}, h2.Trailer{}
	l.busy++
	l.startedCount++
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

// send writes the rest of connection i's request until the socket buffer is full.
func (l *loop) send(i int) {
	c := &l.conns[i]
	switch {
	case l.carriers > 0:
		l.openStream(i)
		return
	case c.tls != nil:
		l.sendTLS(i)
		return
	}
	for c.written < len(c.request.wire) {
		n, errno := raw.Send(c.fd, c.request.wire[c.written:])
		switch {
		case errno == 0:
			if c.written += n; c.state == connecting {
				l.connectionOpened(i, l.Clock.Now())
			}
		case errno == syscall.EINTR:
		case errno == syscall.EAGAIN:
			return
		case c.state == connecting:
			l.notConnected(i, l.Clock.Now(), errno)
			return
		default:
			l.connectionError(i, l.Clock.Now(), errno)
			return
		}
	}
}

// Handle handles epoll events of connection i.
func (l *loop) Handle(i int, events uint32) {
	c := &l.conns[i]
	if c.fd < 0 {
		return
	}
	c.hangup = c.hangup || events&(unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0
	if c.state == connecting && !l.connectCompleted(i) {
		return
	}
	switch {
	case c.tls != nil:
		l.handleTLS(i, events)
		l.flushSessions()
		return
	case l.carriers > 0:
		l.queueFlush(i)
		if events&^unix.EPOLLOUT != 0 {
			l.receive(i)
		}
		l.flushSessions()
		return
	}
	if events&unix.EPOLLOUT != 0 && c.hasRequest && c.written < len(c.request.wire) {
		l.send(i)
	}
	if c.fd >= 0 && events&^unix.EPOLLOUT != 0 {
		l.receive(i)
	}
}

// receive reads from connection i until there is no more data.
func (l *loop) receive(i int) {
	c := &l.conns[i]
	for fd := c.fd; c.fd == fd && c.state != connecting; { // else it is another connection
		n, errno := raw.Receive(fd, l.buffer)
		now := l.Clock.Now()
		switch {
		case errno == syscall.EINTR:
			continue
		case errno == syscall.EAGAIN:
			return
		case errno != 0:
			l.connectionError(i, now, errno)
			return
		case n == 0:
			l.peerClosed(i, now)
			return
		}
		l.dataReceived(i, l.buffer[:n], now)
		if n < len(l.buffer) && !c.hangup {
			return
		}
	}
}

// dataReceived handles data received on connection i.
func (l *loop) dataReceived(i int, in []byte, now int64) {
	c := &l.conns[i]
	if i < l.carriers {
		l.framesReceived(i, in, now)
		return
	}
	if !c.hasRequest {
		l.fail(i, now, kindProtocol, "data without a request")
		return
	}
	if c.firstByteAt == 0 {
		c.firstByteAt = now
	}
	c.received += int64(len(in))
	for len(in) > 0 && !c.answer.Done() {
		n, piece, err := c.answer.Feed(in)
		if err != nil {
			l.fail(i, now, kindProtocol, "%v", err)
			return
		}
		if len(piece) > 0 && c.request.isExpectedStatus(c.answer.Status) {
			c.request.feed(&c.body, piece, c.answer.Coding)
		}
		in = in[n:]
	}
	switch {
	case len(in) > 0:
		l.fail(i, now, kindProtocol, "data after the end of the response")
	case c.answer.Done():
		l.responseComplete(i, now)
	}
}

// peerClosed handles the close of connection i by the server.
func (l *loop) peerClosed(i int, now int64) {
	c := &l.conns[i]
	if i < l.carriers {
		l.sessionEnded(i, now, oneloop.KindClosed, "the server closed the connection")
		return
	}
	if !c.hasRequest {
		l.closeConn(i)
		l.freed = append(l.freed, int32(i))
		return
	}
	c.hangup = true
	if c.tls != nil && c.tls.Ended && c.answer.EndsWithConnection() {
		l.fail(i, now, oneloop.KindClosed, "without TLS's close_notify, so its body may be incomplete (RFC 9112, section 9.8)")
		return
	}
	if err := c.answer.End(); err != nil {
		l.fail(i, now, oneloop.KindClosed, "%v", err)
		return
	}
	l.responseComplete(i, now)
}

// connectionError handles an error of connection i.
func (l *loop) connectionError(i int, now int64, errno syscall.Errno) {
	c := &l.conns[i]
	if i < l.carriers {
		l.sessionEnded(i, now, oneloop.ErrorKind(errno), errno.Error())
		return
	}
	if !c.hasRequest {
		l.closeConn(i) // it was idle or ending: no response was lost
		l.freed = append(l.freed, int32(i))
		return
	}
	l.fail(i, now, oneloop.ErrorKind(errno), "%v after %d bytes of the response", errno, c.received)
}

// closeConn closes connection i.
func (l *loop) closeConn(i int) {
	c := &l.conns[i]
	if i < l.carriers {
		l.sessions[i].conn, l.sessions[i].isReady = nil, false
	} else if l.carriers > 0 {
		l.closeStream(i)
		return
	}
	if c.tls != nil {
		c.tls.Shut()
		c.tls = nil
	}
	if c.fd >= 0 {
		unix.Close(int(c.fd)) //nolint:errcheck // nothing is lost
		l.Alive.Add(-1)
	}
	c.fd, c.state = -1, closed
}
