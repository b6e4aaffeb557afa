package server

import (
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"testing"

	"weir/serve"
	"weir/web/internal/conformance"
)

// ask sends an input and Next, and returns the answer.
func ask(t *testing.T, addr, input string) string {
	t.Helper()
	c := dial(t, addr).(*net.TCPConn)
	defer c.Close()
	sent := make(chan struct{}) // closed by the goroutine that sends; carries no values
	go func() {
		defer close(sent)
		// both fail if the server has rejected the input
		_, _ = io.WriteString(c, input+conformance.Next)
		_ = c.CloseWrite()
	}()
	got := conformance.Answer(c)
	c.Close()
	<-sent
	return got
}

// TestTheServerConformsToTheRFCs, by each concurrency model.
func TestTheServerConformsToTheRFCs(t *testing.T) {
	if underTest != HTTP1 || modelUnderTest != serve.Goroutine {
		t.Skip("runs all models: once is enough")
	}
	for i, trait := range serve.Ways {
		t.Run(trait.Name, func(t *testing.T) {
			t.Parallel()
			conformsToTheRFCs(t, serve.Way(i))
		})
	}
}

func conformsToTheRFCs(t *testing.T, model serve.Way) {
	c := Config{Engine: HTTP1, Model: model}
	if serve.Ways[model].MultiProcess {
		c = processConfig(model, []string{conformsFlag}, false)
	}
	s := start(t, c, conformance.Handler())
	for _, row := range conformance.Rows() {
		if got := ask(t, s.addr, row.Input); got != row.Want {
			t.Errorf("%s (RFC %s): got %s, want %s", row.Name, row.Section, got, row.Want)
		}
	}
}

// TestDifferencesToNetHTTPAreListed: where net/http answers otherwise, the list says so, and why.
func TestDifferencesToNetHTTPAreListed(t *testing.T) {
	if underTest != HTTP1 || modelUnderTest != serve.Goroutine {
		t.Skip("does not depend on the engine: once is enough")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: conformance.Handler(), ErrorLog: log.New(io.Discard, "", 0)}
	ended := make(chan error, 1) // from Serve, one
	go func() { ended <- s.Serve(l) }()
	t.Cleanup(func() { s.Close(); <-ended })
	listed := map[string]string{}
	for _, group := range differencesToNetHTTP {
		maps.Copy(listed, group.rows)
	}
	for _, row := range conformance.Rows() {
		theirs, differs := listed[row.Name]
		delete(listed, row.Name)
		switch got := ask(t, l.Addr().String(), row.Input); {
		case !differs && got != row.Want:
			t.Errorf("%s (RFC %s): got %.60s of net/http, want %.60s; if it is right to differ, list it with the reason", row.Name, row.Section, got, row.Want)
		case differs && got == row.Want:
			t.Errorf("%s (RFC %s): got %s of net/http, as of this server: remove it from the list of differences", row.Name, row.Section, got)
		case differs && got[:min(len(got), 60)] != theirs:
			t.Errorf("%s (RFC %s): got %.60s of net/http, want %s as in the list of differences", row.Name, row.Section, got, theirs)
		}
	}
	for name := range listed {
		t.Errorf("the list of differences has %q, want names of rows alone", name)
	}
}
