package engine

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/textproto"
	"time"

	"weir/web/http1"
)

// maxDrain is the number of bytes of a request's content that are read and dropped if the handler
// has not read them, so that the connection can go on. It is that of net/http.
const maxDrain = 256 << 10

// body is the content of a request. It implements [io.ReadCloser] for the handler's goroutine.
type body struct {
	exchange *exchange
	waiting  bool   // the client waits for 100 (Continue)
	atEnd    bool   // all content was read
	closed   bool   // the handler has closed it, or has returned
	failed   error  // no more can be read; the connection ends
	framing  []byte // the bytes behind the last piece of content: the last chunk and trailers
	started  time.Time
	read     int64 // bytes of content
}

// noContent is the body of requests without content. Nothing of it changes.
var noContent = &body{atEnd: true, closed: true}

func newBody(x *exchange, o http1.Options) *body {
	return &body{exchange: x, waiting: o.ExpectContinue}
}

// close makes further reads fail: the handler has returned.
func (b *body) close() {
	if b != noContent {
		b.closed = true
	}
}

// Read implements [io.Reader].
func (b *body) Read(p []byte) (int, error) {
	switch {
	case b.closed:
		return 0, http.ErrBodyReadAfterClose
	case b.waiting:
		b.waiting = false
		if err := b.exchange.sendContinue(); err != nil {
			return 0, b.fail(err)
		}
	}
	return b.readContent(p)
}

func (b *body) readContent(p []byte) (int, error) {
	x := b.exchange
	for len(p) > 0 {
		switch {
		case b.failed != nil:
			return 0, b.failed
		case b.atEnd:
			return 0, io.EOF
		case x.start == len(x.in):
			if err := b.fill(); err != nil {
				return 0, b.fail(err)
			}
		}
		rest := x.in[x.start:]
		n, content, v := x.conn.scanner.Step(rest[:min(len(rest), len(p))])
		if v != nil {
			return 0, b.fail(v)
		}
		x.start += n
		if content {
			b.framing, b.read = b.framing[:0], b.read+int64(n)
			copy(p, rest[:n])
			b.noteEnd()
			return n, nil
		}
		b.framing = append(b.framing, rest[:n]...)
		b.noteEnd()
	}
	return 0, nil
}

// noteEnd notes the end of the content, once it was read.
func (b *body) noteEnd() {
	if b.atEnd = b.exchange.conn.scanner.Between(); b.atEnd {
		b.setTrailers()
		b.exchange.context.setContentRead()
	}
}

// fill reads more input, within the time that the client has for the content.
func (b *body) fill() error {
	x, config := b.exchange, &b.exchange.conn.server.config
	now := time.Now()
	if b.started.IsZero() {
		b.started = now
	}
	allowed := config.SlowTransferGrace
	if allowed > 0 && config.MinRate > 0 {
		allowed = max(allowed, time.Duration(float64(b.read)/float64(config.MinRate)*1e9))
	}
	x.conn.reading.limit(b.started, allowed)
	return x.fill()
}

// fail stores why no more content can be read.
func (b *body) fail(err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	b.failed = err
	return err
}

// setTrailers sets the request's trailer fields from the bytes behind the content: the end of the
// last piece, the line of the last chunk, the fields, and an empty line.
func (b *body) setTrailers() {
	_, fields, _ := bytes.Cut(bytes.TrimPrefix(b.framing, []byte("\r\n")), []byte("\r\n"))
	fields = bytes.TrimSuffix(fields, []byte("\r\n"))
	if len(fields) == 0 || b.exchange.head.options.Length >= 0 {
		return
	}
	trailer := make(http.Header)
	for name := range b.exchange.request.Trailer {
		trailer[name] = nil
	}
	for name, value := range http1.FieldLines(fields) {
		key := textproto.CanonicalMIMEHeaderKey(string(name))
		trailer[key] = append(trailer[key], string(value))
	}
	b.exchange.request.Trailer = trailer
}

// Close implements [io.Closer]. The rest of the content is dropped before the response is sent.
func (b *body) Close() error {
	b.close()
	return nil
}

// drain reads and drops content that the handler has not read, before the response is sent: some
// clients read the response only when they have sent everything. It reports whether the connection
// can go on.
func (b *body) drain() bool {
	if b.atEnd {
		return b.failed == nil
	}
	if b.waiting || b.failed != nil || b.exchange.head.options.Length-b.read > maxDrain {
		return false
	}
	dropped := 0
	for scratch := make([]byte, 4<<10); dropped <= maxDrain; {
		n, err := b.readContent(scratch)
		dropped += n
		if err != nil {
			return err == io.EOF
		}
	}
	return false
}
