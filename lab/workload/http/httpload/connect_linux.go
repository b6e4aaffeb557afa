package httpload

import (
	"context"
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"weir/lab/internal/oneloop"
	"weir/lab/internal/raw"
)

// connectAll opens the connections of a run with keep-alive, at most atOnce at a time.
func (l *loop) connectAll() error {
	if l.Close {
		return nil
	}
	progress, made := l.Clock.Now(), int64(0)
	for begun := 0; l.opened < int64(len(l.conns)); {
		now := l.Clock.Now()
		for ; begun < len(l.conns) && int64(begun)-l.opened < maxConnecting && l.dialErr == nil; begun++ {
			l.connect(begun, now)
		}
		l.turnOnce(now + oneloop.Nap)
		if l.opened > made {
			progress, made = l.Clock.Now(), l.opened
		}
		switch {
		case l.Stop.Load():
			return context.Canceled
		case l.dialErr != nil:
			return raw.DialError(l.addr, l.dialErr)
		case now-progress > int64(raw.DialTimeout):
			return raw.DialError(l.addr, os.ErrDeadlineExceeded)
		}
	}
	return nil
}

// connect starts to open connection i. It tries to send a plain request at once, because nearby
// servers have accepted the connection by then.
func (l *loop) connect(i int, now int64) {
	c := &l.conns[i]
	fd, err := l.server.Socket()
	if err != nil {
		l.notConnected(i, now, err)
		return
	}
	if l.tlsConfig != nil {
		// The request follows the end of the handshake. Nagle's algorithm would hold it back until
		// the server acknowledges that, 40 ms later if the server sends nothing by itself.
		unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1) //nolint:errcheck // only slower
	}
	c.fd, c.state, c.stateSince, c.hangup = int32(fd), connecting, now, false
	l.Alive.Add(1)
	if err = l.server.Connect(fd); err == nil {
		err = l.poll.Add(fd, i)
	}
	switch {
	case err != nil:
		l.notConnected(i, now, err)
	case c.hasRequest && l.tlsConfig == nil:
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
	if c.hasRequest {
		if c.connectedAt, c.state = now, asking; c.tls != nil {
			l.send(i)
		}
		return
	}
	c.state = idle
}

// notConnected handles the failure to open connection i.
func (l *loop) notConnected(i int, now int64, err error) {
	kind := kindConnect
	for _, own := range []error{unix.EMFILE, unix.ENFILE, unix.EADDRNOTAVAIL, unix.ENOBUFS, unix.ENOMEM} {
		if errors.Is(err, own) {
			kind = kindLocal
		}
	}
	if l.Start.Load() == 0 {
		l.dialErr = err
	}
	l.fail(i, now, kind, "no connection: %v", err)
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
