package server

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"time"
)

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
		s, err := New(c.handler, Config{Addr: "127.0.0.1:0", engine: underTest, DrainTimeout: 100 * time.Millisecond})
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
