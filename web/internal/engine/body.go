package engine

import (
	"errors"
	"io"
	"net/http"
	"net/textproto"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"weir/web/http1"
)

// maxDrain is the number of bytes of a request's content that are read and dropped if the handler
// has not read them, so that the connection can go on. It is that of net/http.
const maxDrain = 256 << 10

// body is the content of a request. It implements [io.ReadCloser]. The handler may pass it to
// another goroutine, such as that of an [http.Transport], which may still read when the handler has
// returned. So a mutex guards it, and nothing of the connection is used by a Read once close has
// returned.
type body struct {
	exchange *exchange

	ending atomic.Bool // end was called

	mu       sync.Mutex // held by Read, drain and close; guards what follows
	waiting  bool       // the client waits for 100 (Continue)
	atEnd    bool       // all content was read
	closed   bool       // no more may be read
	failed   error      // no more can be read; the connection ends
	framing  []byte     // the bytes behind the last piece of content: the last chunk and trailers
	progress progress   // of the client, which sends the content
}

// noContent is the body of requests without content. Nothing of it changes.
var noContent = &body{atEnd: true, closed: true}

func newBody(x *exchange, o http1.Options) *body {
	return &body{exchange: x, waiting: o.ExpectContinue}
}

// Read implements [io.Reader].
func (b *body) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return 0, http.ErrBodyReadAfterClose
	}
	if b.waiting {
		b.waiting = false
		if err := b.exchange.sendContinue(); err != nil {
			return 0, b.failLocked(err)
		}
	}
	return b.readLocked(p)
}

// readLocked reads content. The caller holds mu.
func (b *body) readLocked(p []byte) (int, error) {
	x := b.exchange
	for len(p) > 0 {
		switch {
		case b.failed != nil:
			return 0, b.failed
		case b.atEnd:
			return 0, io.EOF
		case x.start == len(x.in):
			err := b.fillLocked()
			switch {
			case err != nil && errors.Is(err, os.ErrDeadlineExceeded) && b.ending.Load() && !b.closed:
				return 0, http.ErrBodyReadAfterClose // end has interrupted this read
			case err != nil:
				return 0, b.failLocked(err)
			}
		}
		rest := x.in[x.start:]
		n, content, v := x.conn.scanner.Step(rest[:min(len(rest), len(p))])
		if v != nil {
			return 0, b.failLocked(v)
		}
		x.start += n
		if content {
			copy(p, rest[:n])
			b.framing = b.framing[:0]
			b.progress.bytes += int64(n)
			b.noteEndLocked()
			return n, nil
		}
		b.framing = append(b.framing, rest[:n]...)
		b.noteEndLocked()
	}
	return 0, nil
}

// noteEndLocked notes the end of the content, once it was read. The caller holds mu.
func (b *body) noteEndLocked() {
	if b.atEnd = b.exchange.conn.scanner.Between(); b.atEnd {
		b.setTrailersLocked()
		b.exchange.context.setContentRead()
	}
}

// fillLocked reads more input, within the time that the client has for the content. The handler's
// own time does not count. The stop of the server does not end the read. The caller holds mu.
func (b *body) fillLocked() error {
	x := b.exchange
	source := x.conn.conn
	if x.conn.inner != nil {
		source = x.conn.inner
	}
	began := time.Now()
	x.conn.reading.limit(began, b.progress.left(&x.conn.server.config))
	err := x.fillFrom(source)
	b.progress.waited += time.Since(began)
	return err
}

// failLocked stores why no more content can be read. The caller holds mu.
func (b *body) failLocked(err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	b.failed = err
	return err
}

// setTrailersLocked sets the request's trailer fields from the bytes behind the content. The caller
// holds mu.
func (b *body) setTrailersLocked() {
	fields := http1.Trailers(b.framing)
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
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	return nil
}

// end makes further reads fail, and ends one that another goroutine has begun. When it returns, the
// connection is the caller's alone.
func (b *body) end() {
	if b == noContent {
		return
	}
	c := b.exchange.conn
	b.ending.Store(true)
	for !b.mu.TryLock() {
		c.interrupted.Store(true)
		c.interrupt()
		time.Sleep(time.Millisecond)
	}
	c.interrupted.Store(false)
	b.closed = true
	b.mu.Unlock()
}

// wasRead reports whether all content was read. It is called after end.
func (b *body) wasRead() bool { return b.atEnd && b.failed == nil }

// drain reads and drops content that the handler has not read, before the response is sent: some
// clients read the response only when they have sent everything. Then nothing more can be read. It
// reports whether the connection can go on. It cannot if another goroutine reads the content.
func (b *body) drain() bool {
	if b == noContent {
		return true
	}
	if !b.mu.TryLock() {
		return false
	}
	defer b.mu.Unlock()
	b.closed = true
	if b.atEnd {
		return b.failed == nil
	}
	if b.waiting || b.failed != nil || b.exchange.head.options.Length-b.progress.bytes > maxDrain {
		return false
	}
	dropped := 0
	for scratch := make([]byte, 4<<10); dropped <= maxDrain; {
		n, err := b.readLocked(scratch)
		dropped += n
		if err != nil {
			return err == io.EOF
		}
	}
	return false
}
