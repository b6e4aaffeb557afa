package web

import (
	"bufio"
	"context"
	"io"
	"iter"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// FromHTTP makes a source of a handler of package net/http. The handler runs until it has sent its
// head, which makes it the set-up of the response, and goes on when the body is sent. Up to then it
// is a coroutine, not a goroutine, and what it wrote in few bytes before returning is a body of
// bytes. It can flush, take the connection over, send informational responses and set trailers. The
// context of its request ends when it returns, or nobody wants its body any more.
func FromHTTP(h http.Handler) Component {
	return With(Source(func(c *Conn) Body { return newHandling(c, h).begin(c) }), Traits{Name: "handler"})
}

// heldBack is how many bytes a handler may write before it is taken for one that streams.
const heldBack = 4 << 10

// handling is a handler at work on an exchange. It is the handler's [http.ResponseWriter].
type handling struct {
	header http.Header
	engine http.ResponseWriter
	early  bool // the client knows informational responses
	status int
	head   []byte // written before the head was sent
	sent   bool   // the head: what follows goes to out
	out    io.Writer
	raw    bool // the handler wants the connection
	yield  func(struct{}) bool
	next   func() (struct{}, bool)
	stop   func()
	cancel context.CancelFunc
	dead   bool // nobody takes what the handler writes
}

func newHandling(c *Conn, h http.Handler) *handling {
	run := &handling{header: c.header, engine: c.w, early: c.ProtoAtLeast(1, 1)}
	ctx, cancel := context.WithCancel(c.Context())
	run.cancel = cancel
	r := c.HTTPRequest().WithContext(ctx)
	run.next, run.stop = iter.Pull(func(yield func(struct{}) bool) {
		defer cancel()
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
	if !going {
		h.sniff(nil)
		c.trailers = c.trailers || hasTrailers(h.header)
	}
	h.sent = going
}

// sniff finds the type of what the handler has written, p at last, if it has not said so: filters
// look for it.
func (h *handling) sniff(p []byte) {
	if h.header["Content-Type"] == nil && h.header["Content-Encoding"] == nil && len(h.head)+len(p) > 0 {
		h.header.Set("Content-Type", http.DetectContentType(append(slices.Clip(h.head), p[:min(len(p), 512)]...)))
	}
}

// hasTrailers says whether a handler has set trailers that it had not declared.
func hasTrailers(h http.Header) bool {
	for name := range h {
		if strings.HasPrefix(name, http.TrailerPrefix) {
			return true
		}
	}
	return false
}

// begin is the body that the handler has begun.
func (h *handling) begin(c *Conn) Body {
	switch {
	case h.raw:
		return Body{kind: rawBody, run: func(*Conn) error { h.next(); return nil }}.Closing(h.end)
	case !h.sent && len(h.head) == 0 && c.orig.Method == http.MethodHead:
		// that it wrote nothing does not mean that there is nothing
		return Stream(-1, func(io.Writer) error { return nil })
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

// end has a handler whose body nobody wants come to its end. That it aborts then says nothing more.
func (h *handling) end() {
	defer func() {
		if p := recover(); p != nil && p != http.ErrAbortHandler {
			panic(p)
		}
	}()
	h.dead = true
	h.cancel()
	h.next()
	h.stop()
}

// Header implements [http.ResponseWriter].
func (h *handling) Header() http.Header { return h.header }

// WriteHeader implements [http.ResponseWriter].
func (h *handling) WriteHeader(status int) {
	if status >= 100 && status < 200 && status != http.StatusSwitchingProtocols {
		if h.early {
			h.engine.WriteHeader(status)
		}
		return
	}
	if h.status == 0 {
		h.status = status
	}
}

// Write implements [http.ResponseWriter].
func (h *handling) Write(p []byte) (int, error) {
	h.WriteHeader(http.StatusOK)
	if h.out == nil && !h.dead {
		if len(h.head)+len(p) <= heldBack && h.header["Trailer"] == nil {
			h.head = append(h.head, p...)
			return len(p), nil
		}
		h.sniff(p)
	}
	if !h.bodyWanted() {
		return 0, http.ErrBodyNotAllowed
	}
	return h.out.Write(p)
}

// ReadFrom implements [io.ReaderFrom]: a file passes to the kernel.
func (h *handling) ReadFrom(r io.Reader) (int64, error) {
	h.WriteHeader(http.StatusOK)
	if !h.bodyWanted() {
		return 0, http.ErrBodyNotAllowed
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
	if h.sent || h.dead || !canHijack(h.engine) {
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

// canHijack says whether connections can be taken over from an engine. Asked before the handler is
// taken for one that does, so that it can answer otherwise.
func canHijack(w http.ResponseWriter) bool {
	for {
		switch inner := w.(type) {
		case http.Hijacker:
			return true
		case interface{ Unwrap() http.ResponseWriter }:
			w = inner.Unwrap()
		default:
			return false
		}
	}
}

// Unwrap is for [http.ResponseController]: deadlines are the engine's.
func (h *handling) Unwrap() http.ResponseWriter { return h.engine }
