package serve

import (
	"io"
	"net"
	"time"

	"weir/serve/lifecycle"
)

// HalfCloser is a Session that goes on when its peer has finished sending (a half-closed
// connection), such as a server that answers after it has read everything. Any other session ends
// with io.EOF at that time.
type HalfCloser interface {
	Session
	// InputEnd is called once, after the last Input, when the peer has sent its last byte. If it
	// returns nil, the session goes on: it gets wake-ups and may write, also by Conn.Send. It ends
	// when one of its calls returns an error (io.EOF for a normal end) or when the connection
	// breaks. A peer that has closed completely looks the same until something is written to it.
	// Options.IdleTimeout bounds how long a session waits in vain. A stop ends the session as any
	// other.
	InputEnd(out *Writer) error
}

// survivesEOF reports whether err is the end of the input and s goes on after that.
func survivesEOF(s Session, err error) bool {
	if err != io.EOF {
		return false
	}
	_, half := s.(HalfCloser)
	return half
}

// callSession makes the session's call of a step: Wake, InputEnd or Input.
func callSession(s Session, step lifecycle.Step, in []byte, now time.Time, w *Writer) error {
	switch step {
	case lifecycle.Wake:
		return s.Wake(now, w)
	case lifecycle.InputEnd:
		return s.(HalfCloser).InputEnd(w)
	}
	return s.Input(in, w)
}

// Go starts f in a goroutine, as a go statement does. It is for sessions and handlers on an event
// loop, which waits for the kernel without notifying the Go scheduler. A goroutine of a plain go
// statement starts there only when another thread finds it, some 60 microseconds later. Go makes
// the loop yield to it first. c is the session's Conn, or the handler's net.Conn. In other models
// Go is a go statement. Run does not wait for f.
func Go(c interface{ RemoteAddr() net.Addr }, f func()) {
	go f()
	if s, ok := c.(interface{ started() }); ok {
		s.started()
	}
}

// started implements Go.
func (h *blockingSession) started() {
	if s, ok := h.sessionHost.(interface{ started() }); ok {
		s.started()
	}
}
