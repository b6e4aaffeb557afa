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

// SSEConfig says how a stream is kept. The zero value is a good one.
type SSEConfig struct {
	// KeepAlive is the time between comments that keep the connection from looking idle. Empty:
	// "15s"; "0s": there are none.
	KeepAlive string `hcl:"keep_alive,optional"`

	// Retry is how long a client waits before it comes again, told at the beginning. Empty: as the
	// client likes.
	Retry string `hcl:"retry,optional"`

	// MaxOpen is how many may be connected at once, half of them from one address, but for
	// loopback; to others the answer is 503. Behind a load balancer, name its address in the
	// server's trusted: otherwise all users have one address. 0: any number.
	MaxOpen int `hcl:"max_open,optional"`

	// OnOverLimit receives a line for the operator when a client is rejected because it has half of
	// all places. Goroutines of exchanges call it. Nil: not reported.
	OnOverLimit func(line string)
}

// Streams is the component that [SSE] makes.
type Streams struct {
	*ends
	tell             func(context.Context, *Stream) error
	keepAlive, retry time.Duration
}

// SSE makes a source of a function that tells a client of events. Its context ends when the client
// has gone or the component is closed; when it returns, the stream ends, and a browser comes again.
// An error of its own cuts the connection, and goes to the log alone. Who calls SSE calls Close of
// the component, which is a *[Streams].
func SSE(cfg SSEConfig, tell func(context.Context, *Stream) error) (web.Component, error) {
	s := &Streams{tell: tell}
	var err error
	if s.keepAlive, err = unit.Duration("events: keep_alive", cfg.KeepAlive, 15*time.Second); err != nil {
		return nil, err
	}
	if s.retry, err = unit.Duration("events: retry", cfg.Retry, 0); err != nil {
		return nil, err
	}
	s.ends, err = newEnds("sse", cfg.MaxOpen, cfg.OnOverLimit)
	if err != nil {
		return nil, err
	}
	return s, nil
}

var (
	eventStream = web.NewField("Content-Type", "text/event-stream; charset=utf-8")
	noCache     = web.NewField("Cache-Control", "no-cache")
	// proxies like nginx pass each event on at once
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
	if !s.enter(c) {
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

// run is a stream from its first byte to its last.
func (s *Streams) run(client context.Context, to *Stream) error {
	ctx, end := context.WithCancel(client)
	done := make(chan struct{}) // closed when no comment is written any more
	go func() { defer close(done); s.keep(ctx, end, to) }()
	defer func() { end(); <-done }()
	if err := to.Send(Event{Retry: s.retry}); err != nil { // the head goes out with it
		return err
	}
	err := s.tell(ctx, to)
	if ctx.Err() != nil { // it was told to
		return nil
	}
	return err
}

// keep sends comments, and ends the stream when the component is closed or the server stops. It
// returns when ctx ends.
func (s *Streams) keep(ctx context.Context, end context.CancelFunc, to *Stream) {
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

// Stream is the way to one client. Its methods may be called from any goroutine until the function
// that was given it returns.
type Stream struct {
	last string

	mu  sync.Mutex
	w   io.Writer
	buf []byte
}

// LastEventID is the ID of the last event that the client has seen on an earlier connection, ""
// when it came for the first time.
func (s *Stream) LastEventID() string { return s.last }

// Send sends an event at once. An error is that the event can't be sent as it is, or that the
// client has gone.
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

// Comment sends a text that clients do not see.
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
