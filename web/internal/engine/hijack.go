package engine

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"sync"
	"time"
)

// takeover is the state of a connection that a handler has taken over.
type takeover struct {
	closeOnce sync.Once
	closed    chan struct{} // closed when the connection was closed, or is no longer reachable
}

func (t *takeover) close() { t.closeOnce.Do(func() { close(t.closed) }) }

// hijackedConn is a connection that a handler has taken over. The stop of the server ends a read of
// a connection; here it does not, because the request's context ends then.
type hijackedConn struct {
	net.Conn
	inner    net.Conn // within Conn; reads use it
	monitor  Monitor  // nil: there is none
	takeover *takeover

	mu           sync.Mutex // guards what follows
	readDeadline time.Time  // as the user has set it
	closed       bool
}

// Close implements [net.Conn].
func (h *hijackedConn) Close() error {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	err := h.Conn.Close()
	h.takeover.close()
	return err
}

// Write implements [net.Conn].
func (h *hijackedConn) Write(p []byte) (int, error) {
	if h.monitor != nil {
		h.monitor.Writing()
		defer h.monitor.Written()
	}
	return h.Conn.Write(p)
}

// CloseWrite shuts the connection down for writing, if it can.
func (h *hijackedConn) CloseWrite() error {
	if half, ok := h.inner.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
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

// isLate reports whether the deadline that the user has set has passed, or the connection is
// closed. If not, it sets the deadline again.
func (h *hijackedConn) isLate() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || !h.readDeadline.IsZero() && !time.Now().Before(h.readDeadline) {
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
	x.LeaveLoop()
	x.body.end()
	x.context.stopWatch()
	c := x.conn
	if err := c.conn.SetDeadline(time.Time{}); err != nil {
		return nil, nil, err
	}
	if w.status != 0 && !w.headEnded { // 101, or 200 to CONNECT
		w.endHead(-1, nil)
	}
	w.flush()
	w.hijacked = &takeover{closed: make(chan struct{})}
	taken := &hijackedConn{Conn: c.conn, inner: c.inner, monitor: c.monitor, takeover: w.hijacked}
	if c.inner == nil {
		taken.inner = c.conn
	}
	runtime.AddCleanup(taken, (*takeover).close, w.hijacked)
	c.server.registerTaken(c)
	arrived := bytes.Clone(x.in[x.start:])
	in := bufio.NewReaderSize(io.MultiReader(bytes.NewReader(arrived), taken), max(4096, len(arrived)))
	if _, err := in.Peek(len(arrived)); err != nil && len(arrived) > 0 {
		return nil, nil, err
	}
	return taken, bufio.NewReadWriter(in, bufio.NewWriter(taken)), w.failed
}

// awaitHijacked waits until the connection was closed: by its user, by a panic of the handler, or
// because the server aborts. The exchange is not used again.
func (x *exchange) awaitHijacked(returned bool) {
	c := x.conn
	if returned {
		select {
		case <-x.hijacked.closed:
		case <-c.server.aborted:
		}
	}
	c.server.forgetTaken(c)
	x.context.end()
	x.over, c.x = true, nil
}

func (s *Server) registerTaken(c *Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken[c] = c.x.context
	if s.stopping.Load() {
		c.x.context.end()
	}
}

func (s *Server) forgetTaken(c *Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.taken, c)
}
