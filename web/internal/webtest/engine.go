package webtest

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"weir/serve"
	"weir/web/server"
)

// variant is an engine of HTTP/1 and its concurrency model.
type variant struct {
	engine string // empty: httptest, which is net/http without package server
	model  serve.Way
}

// underTest is the variant of the servers that Serve makes.
var underTest variant

// variants are the variants of each test: net/http, and the own engine on event loops.
var variants = []variant{{}, {server.HTTP1, serve.Coroutine}}

// EachEngine runs every test of a package with each engine of HTTP/1. It implements
// goleak.TestingM.
type EachEngine struct{ *testing.M }

// Run implements goleak.TestingM.
func (e EachEngine) Run() int {
	for _, v := range variants {
		underTest = v
		if status := e.M.Run(); status != 0 {
			return status
		}
	}
	return 0
}

// listenAndServe serves a handler by the variant under test. stop ends the server when its
// exchanges have ended.
func listenAndServe(t testing.TB, h http.Handler) (url string, stop func()) {
	if underTest.engine == "" {
		s := httptest.NewServer(h)
		return s.URL, s.Close
	}
	t.Logf("by the engine %s and the model %s", underTest.engine, underTest.model)
	s, err := server.New(h, server.Config{Addr: "127.0.0.1:0", Engine: underTest.engine, Model: underTest.model, ErrorLog: func(line string) { t.Log(line) }})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1) // from Run to stop, one result
	go func() { ended <- s.Run(ctx) }()
	return "http://" + s.Addr().String(), func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}
