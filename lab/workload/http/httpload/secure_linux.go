package httpload

import (
	"errors"
	"io"
	"syscall"

	"golang.org/x/sys/unix"

	"weir/lab/internal/oneloop"
	"weir/lab/internal/tlsclient"
)

// beginHandshake starts the TLS handshake of connection i.
func (l *loop) beginHandshake(i int, now int64) {
	c := &l.conns[i]
	c.tls, c.state, c.stateSince = tlsclient.New(c.fd, l.tlsConfig), handshaking, now
	c.tls.Hangup = c.hangup
	l.stepHandshake(i)
}

// stepHandshake continues the handshake of connection i as far as its socket allows.
func (l *loop) stepHandshake(i int) {
	c := &l.conns[i]
	if !c.tls.Step() {
		return
	}
	now := l.Clock.Now()
	if c.tls.Err != nil {
		l.handshakeFailed(i, now, c.tls.Err)
		return
	}
	l.handshakes++
	if c.tls.ConnectionState().DidResume {
		l.resumed++
	}
	if l.Start.Load() == 0 || l.Window.Holds(now) {
		l.handshakeTimes.Record(now - c.stateSince)
	}
	l.connectionReady(i, now)
	if c.tls != nil { // the socket may have more, without another event
		l.receiveTLS(i)
	}
}

// handshakeFailed handles a failed handshake of connection i.
func (l *loop) handshakeFailed(i int, now int64, err error) {
	err = tlsclient.HandshakeError(l.tlsConfig.ServerName, err)
	l.NotConnected(err)
	l.fail(i, now, tlsKind(err), "%v", err)
	if !l.open {
		l.conns[i].state, l.conns[i].stateSince = refused, now
	}
}

// tlsKind returns the kind of an error of a TLS connection.
func tlsKind(err error) string {
	switch {
	case errors.Is(err, syscall.EPIPE), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return oneloop.KindClosed
	case errors.Is(err, syscall.ECONNRESET):
		return oneloop.KindReset
	}
	return kindTLS
}

// handleTLS handles epoll events of connection i, whose TCP connection is open.
func (l *loop) handleTLS(i int, events uint32) {
	c := &l.conns[i]
	c.tls.Hangup = c.hangup
	if events&^unix.EPOLLOUT != 0 {
		c.tls.Drained = false
	}
	if err := c.tls.Flush(); err != nil {
		l.tlsError(i, l.Clock.Now(), err)
		return
	}
	if c.state == handshaking {
		l.stepHandshake(i)
		return
	}
	if i < l.carriers {
		l.queueFlush(i)
	}
	if !c.tls.Drained {
		l.receiveTLS(i)
	}
}

// sendTLS sends connection i's request. The part that the socket does not take follows by itself.
func (l *loop) sendTLS(i int) {
	c := &l.conns[i]
	c.written = len(c.request.wire)
	if _, err := c.tls.Write(c.request.wire); err != nil {
		l.tlsError(i, l.Clock.Now(), err)
	}
}

// receiveTLS reads from connection i until there is no more data.
func (l *loop) receiveTLS(i int) {
	c := &l.conns[i]
	for t := c.tls; c.tls == t; {
		n, err := t.Read(l.buffer)
		if n == 0 && err == tlsclient.ErrWouldBlock {
			return
		}
		now := l.Clock.Now()
		if n > 0 {
			l.dataReceived(i, l.buffer[:n], now)
		}
		if c.tls != t || err == nil || err == tlsclient.ErrWouldBlock {
			continue
		}
		if err == io.EOF {
			l.peerClosed(i, now)
		} else {
			l.tlsError(i, now, err)
		}
		return
	}
}

// tlsError handles an error of connection i after the handshake.
func (l *loop) tlsError(i int, now int64, err error) {
	c := &l.conns[i]
	if i < l.carriers {
		l.sessionEnded(i, now, tlsKind(err), err.Error())
		return
	}
	if !c.hasRequest && tlsKind(err) != kindTLS {
		l.closeConn(i) // it was idle or ending: no response was lost
		l.freed = append(l.freed, int32(i))
		return
	}
	l.fail(i, now, tlsKind(err), "%v after %d bytes of the response", err, c.received)
}
