package web_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"weir/flow"
	"weir/web"
	"weir/web/internal/webtest"
)

// readings formats the counts of edges and stages, without times.
func readings(t flow.Topology) string {
	said := ""
	for _, e := range t.Edges {
		said += fmt.Sprintf("%s>%s:%d depth %d refused %d room %d %s; ", e.From, e.To, e.Items, e.Depth, e.Refused, e.Cap, e.WhenFull)
	}
	for _, s := range t.Stages {
		said += fmt.Sprintf("%s×%d:%d; ", s.Name, s.Width, s.Items)
	}
	return said
}

// The edges to a stage that blocks show the exchanges that wait and those that were rejected. Chain
// and network show the same.
func TestTopologyShowsTheAdmissionQueue(t *testing.T) {
	var after []string
	webtest.EachWay(t, func(t *testing.T, way flow.Way) {
		gate, entered := make(chan struct{}), make(chan struct{}, 8)
		slow := web.Blocking(1, 2, web.Named("slow", web.Pipe(func(*web.Conn) { entered <- struct{}{}; <-gate })))
		c := web.Chain(web.When("fork", pathIs("/arm"), mark("arm")), slow, text("done"))
		h, err := web.New(c, web.Options{Way: way})
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		status := make(chan int, 8)
		ask := func(path string) {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
			status <- w.Code
		}
		edge := func(from string) flow.EdgeStats {
			for _, e := range h.Topology().Edges {
				if e.From == from && e.To == "slow" {
					return e
				}
			}
			return flow.EdgeStats{}
		}
		go ask("/")
		<-entered
		for i, from := range []string{"fork", "arm"} {
			go ask([]string{"/", "/arm"}[i])
			webtest.Until(t, "one waits more", func() bool {
				e := edge(from)
				return e.Depth == uint64(2-i) && e.Refused == 0
			})
		}
		for _, path := range []string{"/", "/arm", "/arm"} {
			ask(path)
			if got := <-status; got != 503 {
				t.Errorf("%s: %d, want 503", path, got)
			}
		}
		if fork, arm := edge("fork"), edge("arm"); fork.Refused != 1 || arm.Refused != 2 {
			t.Errorf("got %d and %d rejected exchanges, want 1 and 2", fork.Refused, arm.Refused)
		}
		close(gate)
		for range 3 {
			if got := <-status; got != 200 {
				t.Errorf("%d, want 200", got)
			}
		}
		webtest.Until(t, "nothing is inside", func() bool { e, a := edge("fork"), edge("arm"); return e.Depth+a.Depth == 0 })
		if err := h.Close(); err != nil {
			t.Errorf("Close: got %v, want nil", err)
		}
		after = append(after, readings(h.Topology()))
	})
	if after[0] != after[1] {
		t.Errorf("got different readings, want the same of both models\nchain   %s\nnetwork %s", after[0], after[1])
	}
}

// An exchange whose client disconnects while it waits leaves its place to another.
func TestDisconnectedClientLeavesTheAdmissionQueue(t *testing.T) {
	webtest.EachWay(t, disconnectedClientLeavesTheAdmissionQueue)
}

func disconnectedClientLeavesTheAdmissionQueue(t *testing.T, way flow.Way) {
	gate, entered := make(chan struct{}), make(chan struct{}, 8)
	ends := make(chan webtest.ExchangeEnd, 8)
	slow := web.Blocking(1, 1, web.Pipe(func(*web.Conn) { entered <- struct{}{}; <-gate }))
	h, err := web.New(web.Chain(webtest.RecordEnds(ends), slow, text("done")), web.Options{Way: way})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	ask := func(ctx context.Context) {
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, "GET", "/", nil))
	}
	depth := func() uint64 {
		for _, e := range h.Topology().Edges {
			if e.To == "pipe-2" {
				return e.Depth
			}
		}
		return 0
	}
	go ask(t.Context())
	webtest.Receive(t, entered, "the first exchange to be active")
	for range 3 {
		ctx, leave := context.WithCancel(t.Context())
		go ask(ctx)
		webtest.Until(t, "it waits", func() bool { return depth() == 2 })
		leave()
		if end := webtest.Receive(t, ends, "the end of an exchange"); end.Status != web.StatusClientClosedRequest || end.Err != context.Canceled {
			t.Errorf("%+v, want %d", end, web.StatusClientClosedRequest)
		}
		webtest.Until(t, "it has left the line", func() bool { return depth() == 1 })
	}
	go ask(t.Context())
	webtest.Until(t, "another waits", func() bool { return depth() == 2 })
	close(gate)
	for range 2 {
		if end := webtest.Receive(t, ends, "the end of an exchange"); end.Status != http.StatusOK {
			t.Errorf("an exchange that waited: got %+v, want status 200", end)
		}
	}
	// An exchange that need not wait is served even if its client has disconnected: the client may
	// have closed only its sending side.
	gone, leave := context.WithCancel(t.Context())
	leave()
	ask(gone)
	if end := webtest.Receive(t, ends, "the end of an exchange"); end.Status != http.StatusOK {
		t.Errorf("a disconnected client's exchange that need not wait: got %+v, want status 200", end)
	}
}
