package server

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestDeadlinesOfAHandlerEndWithItsExchange: later requests are answered, and the idle timeout
// holds.
func TestDeadlinesOfAHandlerEndWithItsExchange(t *testing.T) {
	for name, deadline := range map[string]func() time.Time{
		"in the past": func() time.Time { return time.Unix(1, 0) },
		"soon":        func() time.Time { return time.Now().Add(50 * time.Millisecond) },
		"none":        func() time.Time { return time.Time{} },
	} {
		s := start(t, Config{IdleTimeout: shortTimeout}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if err := http.NewResponseController(w).SetReadDeadline(deadline()); err != nil {
				t.Errorf("%s: SetReadDeadline: got error %v, want none", name, err)
			}
			io.WriteString(w, "here")
		}))
		c := dial(t, s.addr)
		r := bufio.NewReader(c)
		for range 2 {
			io.WriteString(c, get)
			if _, body := answer(t, r); body != "here" {
				t.Errorf("%s: got %q, want a response to each request", name, body)
			}
			time.Sleep(100 * time.Millisecond) // "soon" passes
		}
		c.SetReadDeadline(time.Now().Add(waitTimeout))
		if _, err := r.ReadByte(); err == nil || timedOut(err) {
			t.Errorf("%s: the idle connection got %v, want its end after IdleTimeout", name, err)
		}
	}
}

// TestAHandlersDeadlineDoesNotLiftTheServers: a client that stalls within content is dropped.
func TestAHandlersDeadlineDoesNotLiftTheServers(t *testing.T) {
	failed := make(chan error, 1) // from the handler
	s := start(t, impatient, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.NewResponseController(w).SetReadDeadline(time.Time{})
		_, err := io.Copy(io.Discard, r.Body)
		failed <- err
	}))
	c := dial(t, s.addr)
	io.WriteString(c, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc")
	select {
	case err := <-failed:
		if err == nil {
			t.Error("the handler has read the content of a stalled client without an error, want one")
		}
	case <-time.After(waitTimeout):
		t.Errorf("a client that stalls is still waited for after %v, want it dropped", waitTimeout)
	}
}

// TestARefusedUploadGetsItsResponse, and then the end: the server lingers, because a reset would
// discard what the client has not read.
func TestARefusedUploadGetsItsResponse(t *testing.T) {
	s := start(t, Config{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		io.WriteString(w, "too large")
	}))
	c := dial(t, s.addr)
	io.WriteString(c, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n"+strings.Repeat("x", 20_000))
	time.Sleep(20 * time.Millisecond) // the server has unread input
	got, err := io.ReadAll(c)
	if err != nil || !strings.HasSuffix(string(got), "too large") {
		t.Errorf("got %q, error %v; want the whole response and then the end", got, err)
	}
}

// TestTheContextEndsWhenAClientWithAFurtherRequestLeaves, with a part of the next request sent
// before the handler asked for the context, and with none.
func TestTheContextEndsWhenAClientWithAFurtherRequestLeaves(t *testing.T) {
	for _, further := range []string{"", "G"} {
		entered, ended := make(chan struct{}), make(chan struct{})
		s := start(t, Config{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			close(entered)
			<-r.Context().Done()
			close(ended)
		}))
		c := dial(t, s.addr)
		io.WriteString(c, get+further)
		<-entered
		c.Close()
		select {
		case <-ended:
		case <-time.After(waitTimeout):
			t.Errorf("%q sent behind the request: the context has not ended %v after the client has left", further, waitTimeout)
		}
	}
}
