package proxy

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync"
	"time"
)

// idleError is that an upstream took nothing of a request's body for that long.
type idleError time.Duration

// Error implements error.
func (e idleError) Error() string {
	return fmt.Sprintf("it took nothing of the request's body for %v", time.Duration(e))
}

// Timeout and Temporary implement [net.Error].
func (e idleError) Timeout() bool   { return true }
func (e idleError) Temporary() bool { return false }

// sendLimit ends a try whose upstream takes nothing of the request's body for a while. It counts
// from when a connection is there or a piece was read from the client, to when the transport asks
// for the next piece. Its methods may be called from any goroutine.
type sendLimit struct {
	idle   time.Duration
	cancel context.CancelCauseFunc // of the try

	mu      sync.Mutex // guards what follows
	timer   *time.Timer
	ended   bool // the try has its response, or has failed
	expired bool
}

// limitSend gives a request with a body a limit of idle, and a context by which it is cancelled.
func limitSend(r *http.Request, idle time.Duration) (*http.Request, *sendLimit) {
	ctx, cancel := context.WithCancelCause(r.Context())
	s := &sendLimit{idle: idle, cancel: cancel}
	s.timer = time.AfterFunc(idle, s.expire)
	s.timer.Stop()
	return r.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn:         func(httptrace.GotConnInfo) { s.wait() },
		Wait100Continue: s.pause, // has a limit of its own
		WroteRequest:    func(httptrace.WroteRequestInfo) { s.pause() },
	})), s
}

// wait has the limit count from now on.
func (s *sendLimit) wait() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.timer.Reset(s.idle)
	}
}

// pause has it not count: the client is waited for, or the response.
func (s *sendLimit) pause() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timer.Stop()
}

// expire ends the try.
func (s *sendLimit) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.expired = true
		s.cancel(idleError(s.idle))
	}
}

// end ends the limit, and reports whether it had expired.
func (s *sendLimit) end() (expired bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.timer.Stop()
	return s.expired
}

// sent is a body whose sending has a limit.
type sent struct {
	io.ReadCloser
	limit *sendLimit
}

// Read implements [io.Reader].
func (b sent) Read(p []byte) (int, error) {
	b.limit.pause()
	n, err := b.ReadCloser.Read(p)
	b.limit.wait()
	return n, err
}
