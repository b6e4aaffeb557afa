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

// run is a program that answers an exchange: Read returns its output, Close ends it.
type run struct {
	io.ReadCloser
	name string // for errors
	// the end of its standard error
	stderrTail *tail
	exitError  func() error // the error of its exit, nil if unknown or successful
	// called after the header, except for event streams; nil: not called
	afterHeader func()
	// awaitExit waits briefly for the exit of a program whose body is complete; nil: no wait
	awaitExit func()
}

// answer answers the exchange with the program's output. It returns after the header.
func (r *run) answer(c *web.Conn, maxHead int64) {
	ctx := c.Context()
	in, limit := limitHeader(r, maxHead)
	h, err := readHeader(in, limit)
	if err != nil {
		c.Answer(c.Fail(errorStatus(ctx, err), r.explain(err)))
		_ = r.Close()
		return
	}
	h.set(c)
	if kind, _, _ := mime.ParseMediaType(h.fields.Get("Content-Type")); r.afterHeader != nil && kind != "text/event-stream" {
		r.afterHeader()
	}
	c.Answer(web.Stream(h.length, func(w io.Writer) error {
		if err := copyBody(w, in, h.length); err != nil {
			return r.explain(err)
		}
		if r.awaitExit != nil {
			r.awaitExit()
		}
		return nil
	}).OnClose(func() { _ = r.Close() }))
	c.After(func(c *web.Conn) {
		if err := r.exitError(); err != nil && c.Err() == nil {
			c.SetErr(r.explain(err))
		}
	})
}

// explain adds the exit and the end of the standard error to an error.
func (r *run) explain(err error) error {
	if exit := r.exitError(); exit != nil && !errors.Is(err, exit) {
		err = fmt.Errorf("%w (%w)", err, exit)
	}
	if said := r.stderrTail.String(); said != "" {
		return fmt.Errorf("%s: %w; its standard error ends in %q", r.name, err, said)
	}
	return fmt.Errorf("%s: %w", r.name, err)
}

// errorStatus returns the status of a failure.
func errorStatus(ctx context.Context, err error) int {
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

var bufferPool = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// copyBody copies a body of a stated length, or, for size -1, to its end with a flush after each
// read.
func copyBody(w io.Writer, r *bufio.Reader, size int64) error {
	buf := bufferPool.Get().(*[32 << 10]byte)
	defer bufferPool.Put(buf)
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
			return fmt.Errorf("its body is %d bytes shorter than its Content-Length: %w", left, io.ErrUnexpectedEOF)
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
	return web.Flush(w)
}

// tail keeps the end of what is written to it. Any goroutine may write.
type tail struct {
	mu     sync.Mutex
	kept   []byte
	copyTo io.Writer // receives all that is written; nil: no copy
}

// tailSize is how much of a program's standard error is kept, in bytes.
const tailSize = 1 << 10

// Write implements [io.Writer]. It never fails, so that no program blocks on its standard error.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.copyTo != nil {
		_, _ = t.copyTo.Write(p)
	}
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - tailSize; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(strings.ToValidUTF8(string(t.kept), "\uFFFD"))
}
