package server

import (
	"crypto/tls"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/quic-go/quic-go/http3"

	"weir/internal/certificate/certtest"
)

// multiplexed returns clients of the versions that share a connection among requests.
func multiplexed(t *testing.T, a *certtest.Authority, s *running) map[string]*http.Client {
	h3 := &http3.Transport{TLSClientConfig: &tls.Config{RootCAs: a.Pool, ServerName: "weir.test"}}
	t.Cleanup(func() { h3.Close() })
	return map[string]*http.Client{"HTTP/2": browser(t, a, s.addr), "HTTP/3": {Transport: h3, Timeout: waitTimeout}}
}

// at returns a URL of the server.
func at(s *running, path string) string { return "https://" + s.addr + path }

func TestSlowStreamsAreDropped(t *testing.T) {
	a := certtest.New(t)
	ended := make(chan error, 4) // from the handlers, one each
	c := impatient
	c.IdleTimeout = 0 // streams are what is tested, not connections
	c.TLS, c.HTTP3 = files(t, a, t.TempDir(), "weir.test"), true
	s := start(t, c, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/body" {
			_, err := io.Copy(io.Discard, r.Body)
			ended <- err
			return
		}
		for some := make([]byte, 1<<20); ; {
			if _, err := w.Write(some); err != nil {
				ended <- err
				return
			}
		}
	}))
	late := func(what string) {
		select {
		case err := <-ended:
			if err == nil {
				t.Errorf("%s: got no error in the handler, want the one of a dropped connection", what)
			}
		case <-time.After(waitTimeout):
			t.Fatalf("%s: got a stream in progress after %v, want it dropped", what, waitTimeout)
		}
	}
	for version, c := range multiplexed(t, a, s) {
		resp, err := c.Get(at(s, "/long"))
		if err != nil {
			t.Fatal(err)
		}
		late(version + ": a client that reads nothing")
		resp.Body.Close()
		body, never := io.Pipe()
		go func() {
			if resp, err := c.Post(at(s, "/body"), "text/plain", body); err == nil {
				resp.Body.Close()
			}
		}()
		late(version + ": a body that does not come")
		never.Close()
	}
}

func TestEventStreamsOverHTTP2And3MayBeIdle(t *testing.T) {
	a := certtest.New(t)
	next := make(chan string) // from the test to the handler of events
	c := impatient
	c.IdleTimeout = 0
	c.TLS, c.HTTP3 = files(t, a, t.TempDir(), "weir.test"), true
	s := start(t, c, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for range 2 {
			io.WriteString(w, <-next)
			http.NewResponseController(w).Flush()
		}
	}))
	for version, c := range multiplexed(t, a, s) {
		answered := make(chan *http.Response, 1) // from the client to the test, one
		go func() {
			resp, err := c.Get(at(s, "/events"))
			if err != nil {
				t.Errorf("%s: got %v, want a response", version, err)
				close(answered)
				return
			}
			answered <- resp
		}()
		next <- "first"
		resp := <-answered
		if resp == nil {
			return
		}
		expect(t, resp.Body, "first")
		time.Sleep(2 * shortTimeout) // nothing to wait for: that nothing happens is what is tested
		next <- "second"
		expect(t, resp.Body, "second")
		resp.Body.Close()
	}
}
