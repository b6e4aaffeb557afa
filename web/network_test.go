package web_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"testing"

	"weir/web"
)

// A network over the user's own channels: two compositions in a row, with a goroutine of the user's
// own between them.
func TestNetworksBetweenChannelsAnswerExchanges(t *testing.T) {
	in, between, after, out := make(chan *web.Conn), make(chan *web.Conn, 4), make(chan *web.Conn), make(chan *web.Conn)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	go func() {
		ended <- web.RunNetwork(ctx, web.Chain(mark("one"), text("hello")), in, between, web.Options{})
	}()
	go func() { // ends when its owner, this test, closes between
		for c := range between {
			if c.Path() == "/lose" {
				c.Drop(errors.New("no way"))
				continue
			}
			after <- c
		}
		close(after)
	}()
	go func() {
		ended <- web.RunNetwork(context.Background(), web.Chain(mark("two"), web.Pipe(func(c *web.Conn) {
			if c.Path() == "/panic" {
				panic("no")
			}
		})), after, out, web.Options{})
	}()
	h := web.NewChannelHandler(in, out)
	s := httptest.NewServer(h)
	for path, want := range map[string]int{"/": 200, "/lose": 503, "/panic": 500} {
		if resp, body := get(t, s.URL+path); resp.StatusCode != want || want == 200 && (body != "hello" || len(resp.Header["X-Way"]) != 2) {
			t.Errorf("%s: got %d %q %v, want %d, and with 200 the text and X-Way of both networks", path, resp.StatusCode, body, resp.Header, want)
		}
	}
	if err := h.Close(); err != nil {
		t.Errorf("Close: got %v, want nil", err)
	}
	s.Close()
	stop()
	if err := <-ended; err != nil {
		t.Errorf("RunNetwork whose context ended: got %v, want nil", err)
	}
	close(between)
	if err := <-ended; err != nil {
		t.Errorf("RunNetwork whose input was closed: got %v, want nil", err)
	}
}

func TestCloseReportsExchangesThatDoNotComeBack(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for Close's deadline of five seconds")
	}
	in, out := make(chan *web.Conn, 1), make(chan *web.Conn)
	h := web.NewChannelHandler(in, out)
	s := httptest.NewServer(h)
	defer s.Close()
	gone := make(chan error, 1)
	go func() {
		resp, err := s.Client().Get(s.URL)
		if err == nil {
			resp.Body.Close()
		}
		gone <- err
	}()
	<-in
	if err := h.Close(); err == nil {
		t.Error("Close: got nil, want an error: an exchange did not come back")
	}
	if err := <-gone; err == nil {
		t.Error("an exchange that did not come back: got a response, want a cut connection")
	}
}

// After Close no exchange enters the user's network, even if there is room. The same holds after
// the network has closed its output channel.
func TestClosedChannelHandlerAnswers503(t *testing.T) {
	for name, end := range map[string]func(h *web.Handler, out chan *web.Conn){
		"by Close":       func(h *web.Handler, _ chan *web.Conn) { _ = h.Close() },
		"by the network": func(_ *web.Handler, out chan *web.Conn) { close(out) },
	} {
		t.Run(name, func(t *testing.T) {
			in, out := make(chan *web.Conn), make(chan *web.Conn)
			h := web.NewChannelHandler(in, out)
			end(h, out)
			for range 20 {
				w := httptest.NewRecorder()
				h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
				if w.Code != 503 {
					t.Errorf("got %d, want 503", w.Code)
				}
			}
			_ = h.Close()
		})
	}
	in, out := make(chan *web.Conn, 40), make(chan *web.Conn)
	h := web.NewChannelHandler(in, out)
	if err := h.Close(); err != nil {
		t.Errorf("Close: got %v, want nil", err)
	}
	for range 40 {
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
	}
	if len(in) != 0 {
		t.Errorf("got %d exchanges in the network after Close, want 0", len(in))
	}
}

// A filter in a network of the user's own gets complete bodies.
func TestUserNetworkDoesNotSeeRanges(t *testing.T) {
	in, out := make(chan *web.Conn), make(chan *web.Conn)
	ended := make(chan error, 1)
	ranged := web.Source(func(c *web.Conn) web.Body {
		if c.RequestHeader("Range") != "" {
			c.SetStatus(206)
			return web.String("part")
		}
		return web.String("whole")
	})
	ctx, stop := context.WithCancel(t.Context())
	go func() { ended <- web.RunNetwork(ctx, web.Chain(ranged, filter(shout)), in, out, web.Options{}) }()
	h := web.NewChannelHandler(in, out)
	s := httptest.NewServer(h)
	if resp, body := get(t, s.URL, "Range", "bytes=1-2"); resp.StatusCode != 200 || body != "WHOLE" {
		t.Errorf("got %d %q, want 200 and the whole body in capitals", resp.StatusCode, body)
	}
	s.Close()
	if err := h.Close(); err != nil {
		t.Errorf("Close: got %v, want nil", err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("RunNetwork whose context ended: got %v, want nil", err)
	}
}

// A network whose first component blocks and has no room drops further exchanges. The others are
// answered when the component continues.
func TestNetworkBetweenChannelsRejectsWithoutRoom(t *testing.T) {
	in, out := make(chan *web.Conn), make(chan *web.Conn)
	gate := make(chan struct{}) // closed when the blocked may go on
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	entered := make(chan struct{}, 4)
	blocked := web.Blocking(1, 1, web.Pipe(func(*web.Conn) { entered <- struct{}{}; <-gate }))
	go func() { ended <- web.RunNetwork(ctx, web.Chain(blocked, text("hello")), in, out, web.Options{}) }()
	h := web.NewChannelHandler(in, out)
	s := httptest.NewServer(h)
	status := make(chan int, 4)
	ask := func() {
		resp, err := s.Client().Get(s.URL)
		if err != nil {
			status <- 0
			return
		}
		_ = resp.Body.Close()
		status <- resp.StatusCode
	}
	go ask()
	<-entered
	for range cap(status) - 1 {
		go ask()
	}
	for range cap(status) - 2 { // one is at work, one waits
		if got := <-status; got != 503 {
			t.Errorf("without room: %d, want 503", got)
		}
	}
	close(gate)
	for range 2 {
		if got := <-status; got != 200 {
			t.Errorf("with room: %d, want 200", got)
		}
	}
	if err := h.Close(); err != nil {
		t.Errorf("Close: got %v, want nil", err)
	}
	s.Close()
	stop()
	if err := <-ended; err != nil {
		t.Errorf("RunNetwork whose context ended: got %v, want nil", err)
	}
}
