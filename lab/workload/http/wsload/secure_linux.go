package wsload

import (
	"errors"
	"io"
	"syscall"

	"golang.org/x/sys/unix"

	"weir/lab/internal/oneloop"
	"weir/lab/internal/tlsclient"
)

// stepHandshake continues the TLS handshake of connection i as far as its socket allows.
func (l *loop) stepHandshake(i int) {
	c := &l.conns[i]
	if !c.tls.Step() {
		return
	}
	if c.tls.Err != nil {
		l.lose(i, kindTLS, tlsclient.HandshakeError(l.tlsConfig.ServerName, c.tls.Err).Error())
		return
	}
	now := l.Clock.Now()
	state := c.tls.ConnectionState()
	if l.handshakes++; state.DidResume {
		l.resumed++
	}
	if l.secured == nil {
		l.secured = tlsclient.NewReport(state, l.tlsConfig)
	}
	l.handshakeTimes.Record(now - c.stateSince)
	if l.beginUpgrade(i, now); c.tls != nil { // the socket may have more, without another event
		l.receiveTLS(i)
	}
}

// handleTLS handles epoll events of connection i, whose TCP connection is open.
func (l *loop) handleTLS(i int, events uint32) {
	c := &l.conns[i]
	c.tls.Hangup = c.hangup
	if events&^unix.EPOLLOUT != 0 {
		c.tls.Drained = false
	}
	if err := c.tls.Flush(); err != nil {
		l.tlsError(i, err)
		return
	}
	if c.state == handshaking {
		l.stepHandshake(i)
		return
	}
	if l.flush(i); c.state == open && len(c.out) == 0 {
		l.sendNext(i)
	}
	if c.tls != nil && !c.tls.Drained {
		l.receiveTLS(i)
	}
}

// sendTLS is send for a connection with TLS: it takes all of text, or nothing while the socket is
// full.
func (l *loop) sendTLS(i int, text []byte) int {
	c := &l.conns[i]
	if len(c.tls.Unsent) > 0 {
		return 0
	}
	if _, err := c.tls.Write(text); err != nil {
		l.tlsError(i, err)
		return 0
	}
	return len(text)
}

// receiveTLS reads from connection i until there is no more data.
func (l *loop) receiveTLS(i int) {
	c := &l.conns[i]
	for t := c.tls; c.tls == t; {
		n, err := t.Read(l.buffer)
		if n > 0 {
			l.dataReceived(i, l.buffer[:n], l.Clock.Now())
		}
		if c.tls != t || err == nil {
			continue
		}
		if err != tlsclient.ErrWouldBlock {
			l.tlsError(i, err)
		}
		return
	}
}

// tlsError handles an error of connection i after the handshake.
func (l *loop) tlsError(i int, err error) {
	kind := kindTLS
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.EPIPE):
		kind = oneloop.KindClosed
	case errors.Is(err, syscall.ECONNRESET):
		kind = oneloop.KindReset
	}
	l.lose(i, kind, err.Error())
}
