package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"weir/flow"
	"weir/web"
)

// TestAnUploadUnderWayIsFinishedDuringTheDrain: the stop does not end reads of a request's content.
func TestAnUploadUnderWayIsFinishedDuringTheDrain(t *testing.T) {
	entered := make(chan struct{})
	s := start(t, Config{DrainTimeout: waitTimeout}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(entered)
		n, err := io.Copy(io.Discard, r.Body)
		fmt.Fprintf(w, "%d %v", n, err)
	}))
	c := dial(t, s.addr)
	io.WriteString(c, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nabc")
	<-entered
	stopped := make(chan error, 1) // the result of Run
	go func() { stopped <- s.stop() }()
	wait(t, "the server accepts no more", func() bool {
		c, err := net.Dial("tcp", s.addr)
		if err == nil {
			c.Close()
		}
		return err != nil
	})
	time.Sleep(10 * time.Millisecond) // the stop has reached the connection, most of the time
	io.WriteString(c, "def")
	if _, body := answer(t, bufio.NewReader(c)); body != "6 <nil>" {
		t.Errorf("the handler has read %q, want 6 bytes and no error", body)
	}
	if err := <-stopped; err != nil {
		t.Errorf("Run returned %v, want nil: the upload has ended in time", err)
	}
}

// TestAHandlerLearnsOfAStop: a response without an end can end by itself.
func TestAHandlerLearnsOfAStop(t *testing.T) {
	checkStopIsLearned(t, start(t, Config{DrainTimeout: waitTimeout}, http.HandlerFunc(sayStop)))
}

// sayStop sends the start of a response at once, and its end when the server stops.
func sayStop(w http.ResponseWriter, r *http.Request) {
	io.WriteString(w, "waiting ")
	if err := http.NewResponseController(w).Flush(); err != nil {
		panic(err)
	}
	select {
	case <-Stopping(r.Context()):
		io.WriteString(w, "stopped")
	case <-time.After(waitTimeout / 2):
	}
}

// checkStopIsLearned stops s, whose handler is sayStop for the query stop, during a response.
func checkStopIsLearned(t *testing.T, s *running) {
	t.Helper()
	scheme := "http"
	if s.config.TLS != nil {
		scheme = "https"
	}
	resp, err := newClient(t, false).Get(scheme + "://" + s.addr + "/?stop")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	stopped := make(chan error, 1) // the result of Run
	go func() { stopped <- s.stop() }()
	body, err := io.ReadAll(resp.Body)
	if string(body) != "waiting stopped" || err != nil {
		t.Errorf("got the body %q and error %v, want \"waiting stopped\"", body, err)
	}
	if err := <-stopped; err != nil {
		t.Errorf("Run returned %v, want nil: the response has ended in time", err)
	}
}

// TestAHandlerThatBlocksDelaysNoOther, whatever it blocks by.
func TestAHandlerThatBlocksDelaysNoOther(t *testing.T) {
	for name, compose := range map[string]func(h http.HandlerFunc) http.Handler{
		"a handler": func(h http.HandlerFunc) http.Handler { return h },
		"an adapted handler": func(h http.HandlerFunc) http.Handler {
			composed, err := web.New(web.FromHTTP(h), web.Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { composed.Close() })
			return composed
		},
		"a network of components": func(h http.HandlerFunc) http.Handler {
			composed, err := web.New(web.Blocking(100, 0, web.FromHTTP(h)), web.Options{Way: flow.Network})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { composed.Close() })
			return composed
		},
	} {
		t.Run(name, func(t *testing.T) {
			entered, release := make(chan struct{}), make(chan struct{}) // carry no values
			s := start(t, Config{}, compose(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/slow" {
					entered <- struct{}{}
					<-release
				}
				io.WriteString(w, "here")
			}))
			var slow []net.Conn
			for range 20 { // more than there are event loops
				c := dial(t, s.addr)
				io.WriteString(c, "GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")
				slow = append(slow, c)
				<-entered
			}
			waitUntilServed(t, s.addr)
			close(release)
			for _, c := range slow {
				if _, body := answer(t, bufio.NewReader(c)); body != "here" {
					t.Errorf("a slow request got %q, want %q", body, "here")
				}
			}
		})
	}
}

// TestRunEndsAfterTheDrainTimeout, whatever a handler does. Its connection counts as cut off if it
// was still in use.
func TestRunEndsAfterTheDrainTimeout(t *testing.T) {
	never := make(chan struct{}) // closed at the end of the test
	entered := make(chan struct{})
	hijack := func(w http.ResponseWriter) {
		if _, _, err := w.(http.Hijacker).Hijack(); err != nil {
			t.Error(err)
		}
	}
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		cut     bool
	}{
		"hijacks and panics": {handler: func(w http.ResponseWriter, r *http.Request) { hijack(w); entered <- struct{}{}; panic("x") }},
		"never returns":      {func(w http.ResponseWriter, r *http.Request) { entered <- struct{}{}; <-never }, true},
	} {
		s, err := New(c.handler, Config{Addr: "127.0.0.1:0", Engine: underTest, Model: modelUnderTest, DrainTimeout: 100 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1) // the result of Run
		go func() { ended <- s.Run(ctx) }()
		client := dial(t, s.Addr().String())
		io.WriteString(client, get)
		<-entered
		stop()
		select {
		case err := <-ended:
			if c.cut && !errors.Is(err, ErrDrainTimeout) {
				t.Errorf("%s: got error %v, want %v", name, err, ErrDrainTimeout)
			}
		case <-time.After(waitTimeout):
			t.Errorf("%s: Run has not returned %v after the stop, want it to after DrainTimeout", name, waitTimeout)
		}
	}
	close(never)
}
