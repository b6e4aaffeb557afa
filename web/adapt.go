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

// FromHTTP returns a source that runs a handler of package net/http.
//
// In the setup phase the handler runs until it has a head to send; it continues when the body is
// sent. It runs as a coroutine (iter.Pull), not as a goroutine. A handler that returns after
// writing at most 4 KiB gives a body of bytes.
//
// The handler may flush, hijack the connection, send informational responses and set trailers. The
// context of its request ends when it returns, or when its body is not going to be sent.
func FromHTTP(h http.Handler) Component {
	return WithTraits(Source(func(c *Conn) Body { return startHandler(c, h).body(c) }), Traits{Name: "handler"})
}

// maxBuffered is the number of bytes that a handler may write before its body becomes a stream.
const maxBuffered = 4 << 10

// handlerRun is one call of a handler for an exchange. It is the handler's [http.ResponseWriter].
type handlerRun struct {
	header             http.Header
	engine             http.ResponseWriter
	knowsInformational bool // the client knows informational responses
	status             int
	buffered           []byte // written by the handler before the head was sent
	headSent           bool   // writes go to out
	out                io.Writer
	hijacking          bool // the handler waits for the connection
	yield              func(struct{}) bool
	next               func() (struct{}, bool)
	stop               func()
	cancel             context.CancelFunc
	discarding         bool // the body is not sent: writes fail
}

func startHandler(c *Conn, h http.Handler) *handlerRun {
	c.leaveLoop() // it may block
	run := &handlerRun{header: c.header, engine: c.w, knowsInformational: c.ProtoAtLeast(1, 1)}
	ctx, cancel := context.WithCancel(c.Context())
	run.cancel = cancel
	r := c.HTTPRequest().WithContext(ctx)
	run.next, run.stop = iter.Pull(func(yield func(struct{}) bool) {
		defer cancel()
		run.yield = yield
		h.ServeHTTP(run, r)
	})
	run.runUntilStatus(c)
	return run
}

// runUntilStatus runs the handler until the exchange has its status.
func (h *handlerRun) runUntilStatus(c *Conn) {
	_, going := h.next()
	if h.hijacking {
		return
	}
	if h.status == 0 {
		h.status = http.StatusOK
	}
	c.status = h.status
	if !going {
		h.detectType(nil)
		c.hasTrailers = c.hasTrailers || hasUndeclaredTrailers(h.header)
	}
	h.headSent = going
}

// detectType sets Content-Type from the first bytes of the body, of which p are the latest, unless
// the handler has set it. Filters read the field.
func (h *handlerRun) detectType(p []byte) {
	if h.header["Content-Type"] == nil && h.header["Content-Encoding"] == nil && len(h.buffered)+len(p) > 0 {
		h.header.Set("Content-Type", http.DetectContentType(append(slices.Clip(h.buffered), p[:min(len(p), 512)]...)))
	}
}

// hasUndeclaredTrailers reports whether a handler has set trailers that it had not declared.
func hasUndeclaredTrailers(h http.Header) bool {
	for name := range h {
		if strings.HasPrefix(name, http.TrailerPrefix) {
			return true
		}
	}
	return false
}

// body returns the body that the handler has started.
func (h *handlerRun) body(c *Conn) Body {
	switch {
	case h.hijacking:
		return Body{kind: hijackBody, hijack: func(*Conn) error { h.next(); return nil }}.OnClose(h.finish)
	case !h.headSent && len(h.buffered) == 0 && c.orig.Method == http.MethodHead:
		// a handler may write nothing for HEAD: the size for GET is not known
		return Stream(-1, func(io.Writer) error { return nil })
	case !h.headSent:
		return Bytes(h.buffered)
	}
	size := int64(-1)
	if n, err := strconv.ParseInt(h.header.Get("Content-Length"), 10, 64); err == nil {
		size = n
	}
	return Stream(size, h.writeBody).OnClose(h.finish)
}

// writeBody continues the handler, which writes its body to w.
func (h *handlerRun) writeBody(w io.Writer) error {
	h.out = w
	if len(h.buffered) > 0 {
		if _, err := w.Write(h.buffered); err != nil {
			return err
		}
	}
	h.next()
	return nil
}

// finish runs a handler whose body is not sent to its end. A panic with http.ErrAbortHandler has no
// effect then.
func (h *handlerRun) finish() {
	defer func() {
		if p := recover(); p != nil && p != http.ErrAbortHandler {
			panic(p)
		}
	}()
	h.discarding = true
	h.cancel()
	h.next()
	h.stop()
}

// Header implements [http.ResponseWriter].
func (h *handlerRun) Header() http.Header { return h.header }

// WriteHeader implements [http.ResponseWriter].
func (h *handlerRun) WriteHeader(status int) {
	if status >= 100 && status < 200 && status != http.StatusSwitchingProtocols {
		if h.knowsInformational {
			h.engine.WriteHeader(status)
		}
		return
	}
	if h.status == 0 {
		h.status = status
	}
}

// Write implements [http.ResponseWriter].
func (h *handlerRun) Write(p []byte) (int, error) {
	h.WriteHeader(http.StatusOK)
	if h.out == nil && !h.discarding {
		if len(h.buffered)+len(p) <= maxBuffered && h.header["Trailer"] == nil {
			h.buffered = append(h.buffered, p...)
			return len(p), nil
		}
		h.detectType(p)
	}
	if !h.awaitHead() {
		return 0, http.ErrBodyNotAllowed
	}
	return h.out.Write(p)
}

// ReadFrom implements [io.ReaderFrom], so that the kernel can send files. It waits until the head
// is sent, and fails without reading from r if the body is not sent. Package proxy relies on both.
func (h *handlerRun) ReadFrom(r io.Reader) (int64, error) {
	h.WriteHeader(http.StatusOK)
	if !h.awaitHead() {
		return 0, http.ErrBodyNotAllowed
	}
	return io.Copy(h.out, r)
}

// awaitHead waits until the head is sent. It reports whether the body is sent, too.
func (h *handlerRun) awaitHead() bool {
	if h.out == nil && !h.discarding {
		h.yield(struct{}{})
	}
	return h.out != nil && !h.discarding
}

// Flush implements [http.Flusher].
func (h *handlerRun) Flush() {
	h.WriteHeader(http.StatusOK)
	if h.awaitHead() {
		_ = Flush(h.out)
	}
}

// Hijack implements [http.Hijacker].
func (h *handlerRun) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	if h.headSent || h.discarding || !canHijack(h.engine) {
		return nil, nil, http.ErrNotSupported
	}
	h.hijacking = true
	h.yield(struct{}{})
	if h.discarding {
		return nil, nil, net.ErrClosed
	}
	if h.status == http.StatusSwitchingProtocols {
		h.engine.WriteHeader(h.status)
	}
	return http.NewResponseController(h.engine).Hijack()
}

// canHijack reports whether the engine supports hijacking. It is called before the exchange is set
// up as a hijack, so that the handler can answer otherwise.
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

// Unwrap is for [http.ResponseController]: it sets deadlines on the engine's writer.
func (h *handlerRun) Unwrap() http.ResponseWriter { return h.engine }
