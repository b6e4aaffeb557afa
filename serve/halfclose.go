package serve

import (
	"io"
	"net"
)

// HalfCloser is a Session that can go on when its peer has finished sending (a half-closed
// connection), as a server does that answers once it has read everything. A session that is none is
// ended by io.EOF then.
type HalfCloser interface {
	Session
	// InputEnd is called once, after the last Input, when the peer has sent its last byte. When it
	// returns nil the session goes on: it is woken and may write, also by Conn.Send, until one of
	// its calls returns an error (io.EOF for a good end) or the connection breaks. A peer that has
	// closed altogether looks the same until something is written to it; Options.Idle bounds how
	// long a session may wait in vain. A stop ends it as any session that has read all.
	InputEnd(out *Writer) error
}

// halfCloser is s if it goes on after the end of its input, nil if not.
func halfCloser(s Session, err error) HalfCloser {
	if err != io.EOF {
		return nil
	}
	h, _ := s.(HalfCloser)
	return h
}

// Go starts f in a goroutine, as a go statement does. It is for sessions and handlers: an event
// loop that waits for the kernel does not tell the Go scheduler, so that a goroutine started by a
// go statement begins when another thread has found it, some 60 microseconds later; Go has the loop
// let it run first. c is the session's Conn, or the handler's net.Conn. Elsewhere it is a go
// statement. Run does not wait for f.
func Go(c interface{ RemoteAddr() net.Addr }, f func()) {
	go f()
	if s, ok := c.(interface{ started() }); ok {
		s.started()
	}
}

// started implements Go.
func (h *hosted) started() {
	if s, ok := h.host.(interface{ started() }); ok {
		s.started()
	}
}
