package events

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"weir/web"
	"weir/web/components/internal/unit"
	"weir/web/internal/conn"
)

// SSEConfig configures [SSE]. The zero value is a good default.
type SSEConfig struct {
	// KeepAlive is the interval of comments that keep the connection from looking idle. Empty:
	// "15s"; "0s": none.
	KeepAlive string `hcl:"keep_alive,optional"`

	// Retry is how long a client waits before it reconnects; it is sent first. Empty: the client's
	// default.
	Retry string `hcl:"retry,optional"`

	// MaxOpen limits the connected clients; half of them may have one address, except loopback.
	// Further ones are answered by 503. Add the address of a load balancer to the server's trusted
	// proxies: otherwise all users share one address. 0: no limit.
	MaxOpen int `hcl:"max_open,optional"`

	// OnOverLimit receives a line for the operator when a client is rejected because it has half of
	// all places. Goroutines of exchanges call it. Nil: not reported.
	OnOverLimit func(line string)
}

// Streams is the component made by [SSE].
type Streams struct {
	*connectedClients
	sendEvents       func(context.Context, *Stream) error
	keepAlive, retry time.Duration
}

// SSE returns a source of a function that sends events to a client. The function's context ends
// when the client disconnects or the component is closed. When the function returns, the stream
// ends, and a browser reconnects. If it returns an error of its own, the connection is closed, and
// the error is only logged. The caller must call Close of the component, which is a *[Streams].
func SSE(cfg SSEConfig, send func(context.Context, *Stream) error) (web.Component, error) {
	s := &Streams{sendEvents: send}
	var err error
	if s.keepAlive, err = unit.Duration("events: keep_alive", cfg.KeepAlive, 15*time.Second); err != nil {
		return nil, err
	}
	if s.retry, err = unit.Duration("events: retry", cfg.Retry, 0); err != nil {
		return nil, err
	}
	s.connectedClients, err = newConnectedClients("sse", cfg.MaxOpen, cfg.OnOverLimit)
	if err != nil {
		return nil, err
	}
	return s, nil
}

var (
	eventStream = web.NewField("Content-Type", "text/event-stream; charset=utf-8")
	noCache     = web.NewField("Cache-Control", "no-cache")
	// makes proxies such as nginx forward each event at once
	unbuffered = web.NewField("X-Accel-Buffering", "no")
	allow      = web.NewField("Allow", "GET, HEAD")
)

// Handle implements [web.Component].
func (s *Streams) Handle(c *web.Conn) {
	if c.Answered() {
		return
	}
	if m := c.Method(); m != http.MethodGet && m != http.MethodHead {
		c.Reply(http.StatusMethodNotAllowed)
		c.SetField(allow)
		return
	}
	if !s.admit(c) {
		return
	}
	c.SetField(eventStream)
	c.SetField(noCache)
	c.SetField(unbuffered)
	ctx, last := c.Context(), c.RequestHeader("Last-Event-ID")
	c.Answer(web.Stream(-1, func(w io.Writer) error {
		return s.run(ctx, &Stream{w: w, last: last})
	}).OnClose(s.leave))
}

// run runs a stream from its first byte to its last.
func (s *Streams) run(client context.Context, to *Stream) error {
	ctx, end := context.WithCancel(client)
	done := make(chan struct{}) // closed after the last comment
	go func() { defer close(done); s.runKeepAlive(ctx, end, to) }()
	defer func() { end(); <-done }()
	if err := to.Send(Event{Retry: s.retry}); err != nil { // this also sends the head
		return err
	}
	err := s.sendEvents(ctx, to)
	if ctx.Err() != nil { // an error after the end was requested does not count
		return nil
	}
	return err
}

// runKeepAlive sends comments, and ends the stream when the component is closed or the server
// stops. It returns when ctx ends.
func (s *Streams) runKeepAlive(ctx context.Context, end context.CancelFunc, to *Stream) {
	defer end()
	var tick <-chan time.Time
	if s.keepAlive > 0 {
		t := time.NewTicker(s.keepAlive)
		defer t.Stop()
		tick = t.C
	}
	stops := conn.Stopping(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.stopping.Done():
			return
		case <-stops:
			return
		case <-tick:
			if to.Comment("") != nil {
				return
			}
		}
	}
}

// Stream is the connection to one client. Its methods are safe for concurrent use until the
// function that received it returns.
type Stream struct {
	last string

	mu  sync.Mutex
	w   io.Writer
	buf []byte
}

// LastEventID returns the ID of the last event that the client saw on an earlier connection, or "".
func (s *Stream) LastEventID() string { return s.last }

// Send sends an event at once. It returns an error if the event is invalid or the client has
// disconnected.
func (s *Stream) Send(e Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, err := e.Append(s.buf[:0])
	if err != nil {
		return err
	}
	s.buf = b
	return s.flush()
}

// Comment sends a text that clients ignore.
func (s *Stream) Comment(text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.buf = s.buf[:0]
	for line := range strings.SplitSeq(lineEnds.Replace(text), "\n") {
		s.buf = field(s.buf, "", line)
	}
	s.buf = append(s.buf, '\n')
	return s.flush()
}

func (s *Stream) flush() error {
	if _, err := s.w.Write(s.buf); err != nil {
		return err
	}
	return web.Flush(s.w)
}
