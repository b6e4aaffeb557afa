package server

import (
	"io"
	"net/http"
	"sync"
	"time"

	"weir/web/internal/conn"
)

// stream guards an exchange of HTTP/2 or HTTP/3, many of which share a connection, against a client
// that gives or takes too slowly: the rules that the watch holds a connection of HTTP/1 to. The
// library's own flow control decides when a write goes on, so what is timed is the write.
type stream struct {
	http.ResponseWriter
	rules   conn.Rules
	control *http.ResponseController

	mu   sync.Mutex
	over bool // guarded by mu: the handler has returned, the writer is no longer ours

	writer *time.Timer // owned by the goroutine that writes; nil until it does
}

// atOnce is what is written under one time limit, in bytes.
const atOnce = 16 << 10

func newStream(w http.ResponseWriter, r *http.Request, rules conn.Rules) *stream {
	s := &stream{ResponseWriter: w, rules: rules, control: http.NewResponseController(w)}
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = &streamBody{ReadCloser: r.Body, s: s}
	}
	return s
}

// Unwrap is for http.ResponseController.
func (s *stream) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// expire ends one side of the stream, unless the handler is done.
func (s *stream) expire(set func(time.Time) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over {
		set(time.Unix(1, 0))
	}
}

// limit is how long the client may take for n bytes.
func (s *stream) limit(n int64) time.Duration {
	if s.rules.Rate <= 0 {
		return s.rules.Grace
	}
	return max(s.rules.Grace, time.Duration(float64(n)/float64(s.rules.Rate)*1e9))
}

// timed runs what writes, at most for as long as atOnce bytes may take.
func (s *stream) timed(write func() error) error {
	if s.writer == nil {
		s.writer = time.AfterFunc(s.limit(atOnce), func() { s.expire(s.control.SetWriteDeadline) })
	} else {
		s.writer.Reset(s.limit(atOnce))
	}
	defer s.writer.Stop()
	return write()
}

// Write sends p, piece by piece.
func (s *stream) Write(p []byte) (n int, err error) {
	for {
		piece := p[n:min(len(p), n+atOnce)]
		err = s.timed(func() error {
			m, err := s.ResponseWriter.Write(piece)
			n += m
			return err
		})
		if err != nil || n == len(p) {
			return n, err
		}
	}
}

// FlushError is for http.ResponseController.
func (s *stream) FlushError() error { return s.timed(s.control.Flush) }

// Flush implements http.Flusher.
func (s *stream) Flush() { s.FlushError() }

// end is called when the handler has returned. What the library still holds back it sends then,
// within a deadline of its own.
func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	s.control.SetWriteDeadline(time.Now().Add(s.limit(atOnce)))
}

// streamBody is a request's body under the same guard.
type streamBody struct {
	io.ReadCloser
	s      *stream
	timer  *time.Timer // nil until the first Read
	got    int64
	waited time.Duration
}

func (b *streamBody) Read(p []byte) (int, error) {
	left := max(1, b.s.limit(b.got)-b.waited)
	if b.timer == nil {
		b.timer = time.AfterFunc(left, func() { b.s.expire(b.s.control.SetReadDeadline) })
	} else {
		b.timer.Reset(left)
	}
	began := time.Now()
	n, err := b.ReadCloser.Read(p)
	b.timer.Stop()
	b.waited += time.Since(began)
	b.got += int64(n)
	return n, err
}
