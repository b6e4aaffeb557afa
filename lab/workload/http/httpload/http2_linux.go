package httpload

import (
	"errors"
	"fmt"
	"syscall"

	"weir/lab/internal/oneloop"
	"weir/lab/internal/raw"
	"weir/lab/workload/http/httpload/h2"
	"weir/lab/workload/http/httpload/response"
)

// Over HTTP/2 the first conns of the loop are carriers: TCP connections, which have no requests of
// their own. Each of the others is a slot for one request at a time, which is a stream of its
// carrier. A slot is idle or asking; or connecting, while its carrier cannot open a stream.

// session is the HTTP/2 part of a carrier.
type session struct {
	conn     *h2.Conn // nil: the connection is not open
	counted  bool     // in ReadyOnes
	isReady  bool     // the server's settings were received
	isQueued bool     // in loop.unflushed
	waiting  []int32  // slots that wait for a stream
}

// carrierOf returns the carrier of slot i.
func (l *loop) carrierOf(i int) int { return (i - l.carriers) % l.carriers }

// openStream sends the request of slot i, or leaves it until its carrier can open a stream.
func (l *loop) openStream(i int) {
	c, k := &l.conns[i], l.carrierOf(i)
	s := &l.sessions[k]
	if !s.isReady || !s.conn.CanOpen() {
		c.state = connecting
		s.waiting = append(s.waiting, int32(i))
		if l.conns[k].state == closed {
			l.connect(k, l.Clock.Now())
		}
		return
	}
	c.state, c.written = asking, len(c.request.wire)
	c.stream = s.conn.Open(i, c.request.http2)
	l.queueFlush(k)
}

// closeStream frees slot i.
func (l *loop) closeStream(i int) {
	c, k := &l.conns[i], l.carrierOf(i)
	if s := &l.sessions[k]; c.state == asking && s.conn != nil {
		s.conn.Cancel(c.stream)
		l.queueFlush(k)
	}
	c.state = idle
}

// beginSession starts HTTP/2 on carrier k, which is open.
func (l *loop) beginSession(k int, now int64) {
	c, s := &l.conns[k], &l.sessions[k]
	if c.tls != nil {
		if err := choseHTTP2(c.tls.ConnectionState()); err != nil {
			l.NotConnected(err)
			l.fail(k, now, kindProtocol, "%v", err)
			return
		}
	}
	c.state, c.stateSince = idle, now
	s.conn, s.isReady = h2.New(events{l}), false
	l.queueFlush(k)
}

// sessionReady handles the settings of the server of carrier k, which are its first frame.
func (l *loop) sessionReady(k int, now int64) {
	s := &l.sessions[k]
	if most := s.conn.MaxStreams(); int64(most) < int64(max(l.Streams, 1)) {
		err := fmt.Errorf("the server allows %d streams on a connection at once: give at most that by --streams", most)
		if l.Start.Load() == 0 && l.Err == nil {
			l.Err = errors.New("load: " + err.Error())
		}
		l.fail(k, now, kindProtocol, "%v", err)
		return
	}
	if s.isReady = true; !s.counted {
		s.counted = true
		l.ReadyOnes++
	}
	l.startWaiting(k, now)
}

// startWaiting opens the streams of the slots that wait for carrier k, or a connection for them.
func (l *loop) startWaiting(k int, now int64) {
	s := &l.sessions[k]
	waiting := s.waiting
	s.waiting = nil
	for _, i := range waiting {
		if c := &l.conns[i]; c.hasRequest && c.state == connecting {
			c.connectedAt = now
			l.openStream(int(i))
		}
	}
}

// framesReceived handles bytes received on carrier k.
func (l *loop) framesReceived(k int, in []byte, now int64) {
	s := &l.sessions[k]
	if s.conn == nil {
		return
	}
	l.receivedAt = now
	conn := s.conn
	err := conn.Feed(in)
	if s.conn != conn {
		return // an event closed it
	}
	l.queueFlush(k)
	switch {
	case err != nil:
		l.fail(k, now, kindProtocol, "%v", err)
	case conn.Ready() && !s.isReady:
		l.sessionReady(k, now)
	case !conn.CanOpen() && conn.Active() == 0:
		l.closeConn(k) // all that it accepted is answered
		l.startWaiting(k, now)
	}
}

// events are what happens to the streams of a loop.
type events struct{ *loop }

func (e events) Head(i int, h response.Head, size int) {
	c := &e.conns[i]
	c.answer.Head, c.firstByteAt = h, e.receivedAt
	c.received += int64(size)
}

func (e events) Data(i int, piece []byte) {
	c := &e.conns[i]
	if c.received += int64(len(piece)); !c.request.isExpectedStatus(c.answer.Status) {
		return
	}
	if c.request.GRPC {
		var err error
		if piece, err = c.call.Feed(piece); err != nil {
			e.fail(i, e.receivedAt, kindMessage, "%v", err)
			return
		}
	}
	c.request.feed(&c.body, piece, c.answer.Coding)
}

func (e events) End(i int, t h2.Trailer) {
	e.conns[i].trailer = t
	e.responseComplete(i, e.receivedAt)
}

func (e events) Failed(i int, err error) {
	kind := kindProtocol
	if stream, ok := errors.AsType[*h2.StreamError](err); ok {
		kind = map[h2.Kind]string{h2.Malformed: kindProtocol, h2.Reset: kindStream, h2.GoAway: kindGoAway}[stream.Kind]
	}
	e.fail(i, e.receivedAt, kind, "%v", err)
}

// sessionFailed handles the end of carrier k by an error: its streams fail with that kind, and so
// do the slots that wait for it if it was never ready.
func (l *loop) sessionFailed(k int, now int64, kind, detail string) {
	s := &l.sessions[k]
	failed := 0
	if s.conn != nil {
		for _, i := range s.conn.CloseAll() {
			failed++
			l.fail(i, now, kind, "%s", detail)
		}
	}
	waiting := s.waiting
	if s.isReady {
		waiting = nil
	} else {
		s.waiting = nil
	}
	for _, i := range waiting {
		if c := &l.conns[i]; c.hasRequest && c.state == connecting {
			failed++
			l.fail(int(i), now, kind, "%s", detail)
		}
	}
	if failed == 0 {
		l.Failures.Add(kind, 1, "connection %d: %s", k, detail)
		l.Failed.Add(1)
	}
	wasReady := s.isReady
	if !wasReady {
		l.NotConnected(errors.New(detail))
	}
	switch l.closeConn(k); {
	case wasReady:
		l.startWaiting(k, now)
	case !l.open:
		l.conns[k].state, l.conns[k].stateSince = refused, now
	}
}

// sessionEnded handles the end of carrier k by the server, which is no error if no stream is open.
func (l *loop) sessionEnded(k int, now int64, kind, detail string) {
	if s := &l.sessions[k]; s.isReady && s.conn.Active() == 0 {
		l.closeConn(k)
		l.startWaiting(k, now)
		return
	}
	l.sessionFailed(k, now, kind, detail)
}

// checkSessions handles the timeouts of carriers, and the retry of failed ones.
func (l *loop) checkSessions(now int64) {
	for k := range l.sessions {
		c, s := &l.conns[k], &l.sessions[k]
		switch {
		case (c.state == connecting || c.state == handshaking || c.state == idle && !s.isReady) && now-c.stateSince > int64(l.timeout()):
			l.fail(k, now, oneloop.KindTimeout, "no HTTP/2 connection within %v", l.timeout())
		case c.state == refused && now-c.stateSince > retryAfter:
			c.state = closed
			l.startWaiting(k, now)
		}
	}
	l.flushSessions()
}

// queueFlush makes flushSessions send the output of carrier k.
func (l *loop) queueFlush(k int) {
	if s := &l.sessions[k]; !s.isQueued {
		s.isQueued = true
		l.unflushed = append(l.unflushed, int32(k))
	}
}

// flushSessions sends the output of the carriers that have some, together for all their streams.
func (l *loop) flushSessions() {
	for len(l.unflushed) > 0 {
		k := int(l.unflushed[len(l.unflushed)-1])
		l.unflushed = l.unflushed[:len(l.unflushed)-1]
		l.sessions[k].isQueued = false
		l.flushSession(k)
	}
}

// flushSession sends the output of carrier k until the socket buffer is full.
func (l *loop) flushSession(k int) {
	c, s := &l.conns[k], &l.sessions[k]
	for s.conn != nil && len(s.conn.Output()) > 0 {
		out := s.conn.Output()
		if c.tls != nil {
			if len(c.tls.Unsent) > 0 {
				return // continued when the socket has room
			}
			if _, err := c.tls.Write(out); err != nil {
				l.tlsError(k, l.Clock.Now(), err)
				return
			}
			s.conn.Sent(len(out))
			continue
		}
		n, errno := raw.Send(c.fd, out)
		switch errno {
		case 0:
			s.conn.Sent(n)
		case syscall.EINTR:
		case syscall.EAGAIN:
			return
		default:
			l.connectionError(k, l.Clock.Now(), errno)
			return
		}
	}
}
