package web

import (
	"bufio"
	"io"
	"iter"
	"net"
	"net/http"
	"strconv"
)

// FromHTTP makes a source of a handler of package net/http. The handler runs until it has sent its head, which makes it
// the set-up of the response, and goes on when the body is sent. Up to then it is a coroutine, not a goroutine, and what it wrote in
// few bytes before returning is a body of bytes. It can flush, take the connection over, send informational responses and set
// trailers.
func FromHTTP(h http.Handler) Component {
	return With(Source(func(c *Conn) Body { return newHandling(c, h).begin() }), Traits{Name: "handler"})
}

// heldBack is how many bytes a handler may write before it is taken for one that streams.
const heldBack = 4 << 10

// handling is a handler at work on an exchange. It is the handler's [http.ResponseWriter].
type handling struct {
	header http.Header
	engine http.ResponseWriter
	status int
	head   []byte // written before the head was sent
	sent   bool   // the head: what follows goes to out
	out    io.Writer
	raw    bool // the handler wants the connection
	yield  func(struct{}) bool
	next   func() (struct{}, bool)
	stop   func()
	dead   bool // nobody takes what the handler writes
}

func newHandling(c *Conn, h http.Handler) *handling {
	run := &handling{header: c.header, engine: c.w}
	r := c.HTTPRequest()
	run.next, run.stop = iter.Pull(func(yield func(struct{}) bool) {
		run.yield = yield
		h.ServeHTTP(run, r)
	})
	run.statusOf(c)
	return run
}

// statusOf runs the handler until the exchange has its status.
func (h *handling) statusOf(c *Conn) {
	_, going := h.next()
	if h.raw {
		return
	}
	if h.status == 0 {
		h.status = http.StatusOK
	}
	c.status = h.status
	if h.header["Content-Type"] == nil && h.header["Content-Encoding"] == nil && len(h.head) > 0 {
		h.header.Set("Content-Type", http.DetectContentType(h.head))
	}
	h.sent = going
}

// begin is the body that the handler has begun.
func (h *handling) begin() Body {
	switch {
	case h.raw:
		return Body{kind: rawBody, run: func(*Conn) error { h.next(); return nil }, shut: h.end}
	case !h.sent:
		return Bytes(h.head)
	}
	size := int64(-1)
	if n, err := strconv.ParseInt(h.header.Get("Content-Length"), 10, 64); err == nil {
		size = n
	}
	return Stream(size, h.resume).Closing(h.end)
}

// resume has the handler write its body.
func (h *handling) resume(w io.Writer) error {
	h.out = w
	if len(h.head) > 0 {
		if _, err := w.Write(h.head); err != nil {
			return err
		}
	}
	h.next()
	return nil
}

// end has a handler whose body nobody wants come to its end.
func (h *handling) end() {
	h.dead = true
	h.next()
	h.stop()
}

// Header implements [http.ResponseWriter].
func (h *handling) Header() http.Header { return h.header }

// WriteHeader implements [http.ResponseWriter].
func (h *handling) WriteHeader(status int) {
	if status >= 100 && status < 200 && status != http.StatusSwitchingProtocols {
		h.engine.WriteHeader(status)
		return
	}
	if h.status == 0 {
		h.status = status
	}
}

// Write implements [http.ResponseWriter].
func (h *handling) Write(p []byte) (int, error) {
	h.WriteHeader(http.StatusOK)
	if h.out == nil && len(h.head)+len(p) <= heldBack {
		h.head = append(h.head, p...)
		return len(p), nil
	}
	if !h.bodyWanted() {
		return len(p), nil
	}
	return h.out.Write(p)
}

// ReadFrom implements [io.ReaderFrom]: a file passes to the kernel.
func (h *handling) ReadFrom(r io.Reader) (int64, error) {
	h.WriteHeader(http.StatusOK)
	if !h.bodyWanted() {
		return io.Copy(io.Discard, r)
	}
	return io.Copy(h.out, r)
}

// bodyWanted waits until the head is sent, and says whether the body is to be.
func (h *handling) bodyWanted() bool {
	if h.out == nil && !h.dead {
		h.yield(struct{}{})
	}
	return h.out != nil && !h.dead
}

// Flush implements [http.Flusher].
func (h *handling) Flush() {
	h.WriteHeader(http.StatusOK)
	if h.bodyWanted() {
		_ = Flush(h.out)
	}
}

// Hijack implements [http.Hijacker].
func (h *handling) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	if h.sent {
		return nil, nil, http.ErrNotSupported
	}
	h.raw = true
	h.yield(struct{}{})
	if h.dead {
		return nil, nil, net.ErrClosed
	}
	if h.status == http.StatusSwitchingProtocols {
		h.engine.WriteHeader(h.status)
	}
	return http.NewResponseController(h.engine).Hijack()
}

// Unwrap is for [http.ResponseController]: deadlines are the engine's.
func (h *handling) Unwrap() http.ResponseWriter { return h.engine }
