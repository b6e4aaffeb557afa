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

// idleError reports that an upstream accepted no data of a request's body for that long.
type idleError time.Duration

// Error implements error.
func (e idleError) Error() string {
	return fmt.Sprintf("the upstream accepted no data of the request's body for %v", time.Duration(e))
}

// Timeout implements [net.Error]: it reports whether the error is a timeout.
func (e idleError) Timeout() bool { return true }

// Temporary implements [net.Error]: it reports whether a retry may help.
func (e idleError) Temporary() bool { return false }

// sendLimit ends a try whose upstream accepts no data of the request's body for a while. The time
// runs from when a connection is made or a piece was read from the client, until the transport
// reads the next piece. Any goroutine may call its methods.
type sendLimit struct {
	idle   time.Duration
	cancel context.CancelCauseFunc // of the try

	mu      sync.Mutex // guards what follows
	timer   *time.Timer
	ended   bool // the try has a response or has failed
	expired bool
}

// limitSend returns the request with a context that the limit cancels, and the limit.
func limitSend(r *http.Request, idle time.Duration) (*http.Request, *sendLimit) {
	ctx, cancel := context.WithCancelCause(r.Context())
	s := &sendLimit{idle: idle, cancel: cancel}
	s.timer = time.AfterFunc(idle, s.expire)
	s.timer.Stop()
	return r.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn:         func(httptrace.GotConnInfo) { s.start() },
		Wait100Continue: s.pause, // the transport limits this wait itself
		WroteRequest:    func(httptrace.WroteRequestInfo) { s.pause() },
	})), s
}

// wait starts the time.
func (s *sendLimit) start() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.timer.Reset(s.idle)
	}
}

// pause stops the time: the proxy waits for the client, or for the response.
func (s *sendLimit) pause() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timer.Stop()
}

// expire cancels the try.
func (s *sendLimit) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.expired = true
		s.cancel(idleError(s.idle))
	}
}

// end stops the limit for good, and reports whether it had expired.
func (s *sendLimit) end() (expired bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.timer.Stop()
	return s.expired
}

// limitedBody is a request body whose sending is limited.
type limitedBody struct {
	io.ReadCloser
	limit *sendLimit
}

// Read implements [io.Reader].
func (b limitedBody) Read(p []byte) (int, error) {
	b.limit.pause()
	n, err := b.ReadCloser.Read(p)
	b.limit.start()
	return n, err
}
