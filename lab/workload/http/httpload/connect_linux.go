package httpload

import (
	"weir/lab/internal/oneloop"
)

// Connect implements oneloop.Loop.
func (l *loop) Connect(i int) { l.connect(i, l.Clock.Now()) }

// connect starts to open connection i. It tries to send a plain request at once, because nearby
// servers have accepted the connection by then.
func (l *loop) connect(i int, now int64) {
	c := &l.conns[i]
	fd, err := l.Dial(i, nil)
	if err != nil {
		l.notConnected(i, now, err)
		return
	}
	c.fd, c.state, c.stateSince, c.hangup = fd, connecting, now, false
	l.Alive.Add(1)
	if c.hasRequest && l.tlsConfig == nil {
		l.send(i)
	}
}

// connectionOpened records that the TCP connection i is open.
func (l *loop) connectionOpened(i int, now int64) {
	if l.Start.Load() == 0 || l.Window.Holds(now) {
		l.connects.Record(now - l.conns[i].stateSince)
	}
	if l.tlsConfig != nil {
		l.beginHandshake(i, now)
		return
	}
	l.connectionReady(i, now)
}

// connectionReady records that connection i can be used. With TLS it sends the request.
func (l *loop) connectionReady(i int, now int64) {
	c := &l.conns[i]
	l.opened++
	if i < l.carriers {
		l.beginSession(i, now)
		return
	}
	if c.hasRequest {
		if c.connectedAt, c.state = now, asking; c.tls != nil {
			l.send(i)
		}
		return
	}
	c.state = idle
	l.ReadyOnes++
}

// notConnected handles the failure to open connection i.
func (l *loop) notConnected(i int, now int64, err error) {
	l.fail(i, now, l.NotConnected(err), "no connection: %v", err)
	if !l.open {
		l.conns[i].state, l.conns[i].stateSince = refused, now
	}
}

// connectCompleted handles the outcome of a connection attempt, and reports whether a plain
// connection i is open. With TLS it starts the handshake.
func (l *loop) connectCompleted(i int) bool {
	now := l.Clock.Now()
	if err := oneloop.Connected(int(l.conns[i].fd)); err != nil {
		l.notConnected(i, now, err)
		return false
	}
	l.connectionOpened(i, now)
	return l.tlsConfig == nil
}
