package server

import (
	"io"
	"net/http"
	"sync"
	"time"

	"weir/web/internal/conn"
)

// guardedStream applies the watch's rules against slow clients to an exchange of HTTP/2 or HTTP/3,
// where many exchanges share a connection. The library's flow control decides when a write
// proceeds, so guardedStream limits the time of each write.
type guardedStream struct {
	http.ResponseWriter
	rules   conn.Rules
	control *http.ResponseController

	mu       sync.Mutex
	finished bool // guarded by mu: the handler has returned; do not use the writer

	writeTimer *time.Timer // owned by the goroutine that writes; nil until the first write
}

// maxWrite is the number of bytes that are written under one time limit.
const maxWrite = 16 << 10

func newGuardedStream(w http.ResponseWriter, r *http.Request, rules conn.Rules) *guardedStream {
	s := &guardedStream{ResponseWriter: w, rules: rules, control: http.NewResponseController(w)}
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = &guardedBody{ReadCloser: r.Body, stream: s}
	}
	return s
}

// Unwrap is for http.ResponseController.
func (s *guardedStream) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// expire ends one direction of the stream, unless the handler has returned.
func (s *guardedStream) expire(set func(time.Time) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.finished {
		set(time.Unix(1, 0))
	}
}

// timeFor returns how long the client may take for n bytes.
func (s *guardedStream) timeFor(n int64) time.Duration {
	if s.rules.Rate <= 0 {
		return s.rules.Grace
	}
	return max(s.rules.Grace, time.Duration(float64(n)/float64(s.rules.Rate)*1e9))
}

// withWriteTimeout runs a write within the time for maxWrite bytes.
func (s *guardedStream) withWriteTimeout(write func() error) error {
	if s.writeTimer == nil {
		s.writeTimer = time.AfterFunc(s.timeFor(maxWrite), func() { s.expire(s.control.SetWriteDeadline) })
	} else {
		s.writeTimer.Reset(s.timeFor(maxWrite))
	}
	defer s.writeTimer.Stop()
	return write()
}

// Write sends p in pieces of maxWrite bytes.
func (s *guardedStream) Write(p []byte) (n int, err error) {
	for {
		piece := p[n:min(len(p), n+maxWrite)]
		err = s.withWriteTimeout(func() error {
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
func (s *guardedStream) FlushError() error { return s.withWriteTimeout(s.control.Flush) }

// Flush implements http.Flusher.
func (s *guardedStream) Flush() { s.FlushError() }

// finish is called when the handler has returned. The library sends buffered data afterwards,
// within a last deadline.
func (s *guardedStream) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.finished = true
	s.control.SetWriteDeadline(time.Now().Add(s.timeFor(maxWrite)))
}

// guardedBody limits the time of reading a request's body.
type guardedBody struct {
	io.ReadCloser
	stream    *guardedStream
	readTimer *time.Timer // nil until the first Read
	bytesRead int64
	// spent in Read so far
	timeWaited time.Duration
}

func (b *guardedBody) Read(p []byte) (int, error) {
	left := max(1, b.stream.timeFor(b.bytesRead)-b.timeWaited)
	if b.readTimer == nil {
		b.readTimer = time.AfterFunc(left, func() { b.stream.expire(b.stream.control.SetReadDeadline) })
	} else {
		b.readTimer.Reset(left)
	}
	began := time.Now()
	n, err := b.ReadCloser.Read(p)
	b.readTimer.Stop()
	b.timeWaited += time.Since(began)
	b.bytesRead += int64(n)
	return n, err
}
