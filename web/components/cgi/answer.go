package cgi

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"strings"
	"sync"

	"weir/web"
	"weir/web/components/cgi/fcgi"
)

// run is a program at work on an exchange: Read gives what it writes, Close ends it.
type run struct {
	io.ReadCloser
	name string // in errors
	said *tail
	exit func() error // how it ended, if not well, as far as is known
	// called when the head has come, unless events follow; nil: there is nothing to do
	headed func()
	// waits a little for the end of a program whose body is whole; nil: there is nothing to wait
	// for
	settle func()
}

// answer makes what the program says the answer. It returns when its head has come.
func (r *run) answer(c *web.Conn, maxHead int64) {
	ctx := c.Context()
	in, limit := limited(r, maxHead)
	h, err := readHead(in, limit)
	if err != nil {
		c.Answer(c.Fail(status(ctx, err), r.because(err)))
		_ = r.Close()
		return
	}
	h.set(c)
	if kind, _, _ := mime.ParseMediaType(h.fields.Get("Content-Type")); r.headed != nil && kind != "text/event-stream" {
		r.headed()
	}
	c.Answer(web.Stream(h.length, func(w io.Writer) error {
		if err := copyBody(w, in, h.length); err != nil {
			return r.because(err)
		}
		if r.settle != nil {
			r.settle()
		}
		return nil
	}).OnClose(func() { _ = r.Close() }))
	c.After(func(c *web.Conn) {
		if err := r.exit(); err != nil && c.Err() == nil {
			c.SetErr(r.because(err))
		}
	})
}

// because is an error with what the program has said of it.
func (r *run) because(err error) error {
	if exit := r.exit(); exit != nil && !errors.Is(err, exit) {
		err = fmt.Errorf("%w (%w)", err, exit)
	}
	if said := r.said.String(); said != "" {
		return fmt.Errorf("%s: %w; it said %q", r.name, err, said)
	}
	return fmt.Errorf("%s: %w", r.name, err)
}

// status is what the client is told of a failure.
func status(ctx context.Context, err error) int {
	late, ok := errors.AsType[net.Error](err)
	refused, _ := errors.AsType[fcgi.Refused](err)
	switch {
	case ctx.Err() != nil:
		return web.StatusClientClosedRequest
	case errors.Is(err, errTime) || ok && late.Timeout():
		return http.StatusGatewayTimeout
	case refused.Status == fcgi.Overloaded:
		return http.StatusServiceUnavailable
	}
	return http.StatusBadGateway
}

var pooled = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// copyBody copies a body of a stated length, or to its end, flushing at each read.
func copyBody(w io.Writer, r *bufio.Reader, size int64) error {
	buf := pooled.Get().(*[32 << 10]byte)
	defer pooled.Put(buf)
	left := size
	for size < 0 || left > 0 {
		part := buf[:]
		if size >= 0 {
			part = part[:min(int64(len(part)), left)]
		}
		n, err := r.Read(part)
		left -= int64(n)
		if n > 0 {
			if _, failed := w.Write(part[:n]); failed != nil {
				return failed
			}
			if size < 0 {
				if failed := web.Flush(w); failed != nil {
					return failed
				}
			}
		}
		switch {
		case err == io.EOF && left > 0 && size >= 0:
			return fmt.Errorf("its body is %d bytes shorter than it said: %w", left, io.ErrUnexpectedEOF)
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
	return web.Flush(w)
}

// tail keeps the end of what is written to it, from any goroutine.
type tail struct {
	mu   sync.Mutex
	b    []byte
	copy io.Writer // nil: nobody else wants it
}

// tailSize is how much of a program's standard error is kept, in bytes.
const tailSize = 1 << 10

// Write implements [io.Writer]; it does not fail, so that no program waits for who reads its
// errors.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.copy != nil {
		_, _ = t.copy.Write(p)
	}
	t.b = append(t.b, p...)
	if over := len(t.b) - tailSize; over > 0 {
		t.b = append(t.b[:0], t.b[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(strings.ToValidUTF8(string(t.b), "\uFFFD"))
}
