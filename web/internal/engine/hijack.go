package engine

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

// hijackedConn is a connection that a handler has taken over. The stop of the server ends a read of
// a connection; here it does not, because the request's context tells the handler's user.
type hijackedConn struct {
	net.Conn
	inner     net.Conn // within Conn; reads use it
	closeOnce sync.Once
	closed    chan struct{} // closed by Close

	mu           sync.Mutex // guards what follows
	readDeadline time.Time  // as the handler's user has set it
}

// Read implements [net.Conn].
func (h *hijackedConn) Read(p []byte) (int, error) {
	for {
		n, err := h.inner.Read(p)
		if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) || h.isLate() {
			return n, err
		}
	}
}

// isLate reports whether the deadline that the user has set has passed. If not, it sets it again.
func (h *hijackedConn) isLate() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.readDeadline.IsZero() && !time.Now().Before(h.readDeadline) {
		return true
	}
	return h.inner.SetReadDeadline(h.readDeadline) != nil
}

// SetReadDeadline implements [net.Conn].
func (h *hijackedConn) SetReadDeadline(t time.Time) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.readDeadline = t
	return h.inner.SetReadDeadline(t)
}

// SetDeadline implements [net.Conn].
func (h *hijackedConn) SetDeadline(t time.Time) error {
	return errors.Join(h.SetReadDeadline(t), h.SetWriteDeadline(t))
}

// Close implements [net.Conn].
func (h *hijackedConn) Close() error {
	err := h.Conn.Close()
	h.closeOnce.Do(func() { close(h.closed) })
	return err
}

// Hijack implements [http.Hijacker]. The reader has the bytes that have arrived behind the request.
func (w *response) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	x := w.exchange
	switch {
	case x.over:
		return nil, nil, errOver
	case w.hijacked != nil:
		return nil, nil, http.ErrHijacked
	case w.headEnded && w.framing.HasContent(w.status):
		return nil, nil, http.ErrNotSupported
	}
	x.context.stopWatch()
	c := x.conn
	if err := c.conn.SetDeadline(time.Time{}); err != nil {
		return nil, nil, err
	}
	if w.status != 0 && !w.headEnded { // 101, or 200 to CONNECT
		w.endHead(-1, nil)
	}
	w.flush()
	w.hijacked = &hijackedConn{Conn: c.conn, inner: c.inner, closed: make(chan struct{})}
	if c.inner == nil {
		w.hijacked.inner = c.conn
	}
	c.server.registerTaken(c)
	arrived := bytes.Clone(x.in[x.start:])
	in := bufio.NewReaderSize(io.MultiReader(bytes.NewReader(arrived), w.hijacked), max(4096, len(arrived)))
	if _, err := in.Peek(len(arrived)); err != nil && len(arrived) > 0 {
		return nil, nil, err
	}
	return w.hijacked, bufio.NewReadWriter(in, bufio.NewWriter(w.hijacked)), w.failed
}

// awaitHijacked waits until the handler's user has closed the connection.
func (x *exchange) awaitHijacked() {
	<-x.hijacked.closed
	x.conn.server.forgetTaken(x.conn)
	x.context.end()
}

func (s *Server) registerTaken(c *connection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken[c] = struct{}{}
	if s.stopping {
		c.x.context.end()
	}
}

func (s *Server) forgetTaken(c *connection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.taken, c)
}
