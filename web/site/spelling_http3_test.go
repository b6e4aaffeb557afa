package site

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/quic-go/quic-go/http3"

	"weir/flow"
	"weir/web/server"
)

// Requests over HTTP/3 come from another engine and are canonicalized in the same place.
func TestNoSpellingOverHTTP3IsServedWithoutCredentials(t *testing.T) {
	w := newWorld(t)
	addr := w.serveWith(t, server.Config{Addr: "127.0.0.1:0", TLS: w.tls, HTTP3: true})
	transport := &http3.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	defer transport.Close()
	w.guarded.Store(&guarded{folder: "/private", host: "admin.example.org"})
	source := "proxy { upstreams = [\"" + w.upstream + "\"] }\n"
	text := "route \"/\" {\n" + source + "}\nroute \"admin.example.org/private/\" {\n authenticate { users = \"" + w.users + "\" }\n" + source + "}\n"
	err := w.run(text, flow.Chain, func() {
		for _, c := range []struct {
			host, target string
			status       int
		}{
			{"admin.example.org", "/private/x", 401}, {"Admin.Example.ORG.:443", "/./private//x", 401}, {"admin.example.org", "/%70rivate/x", 401}, {"admin.example.org", "/x/%2e%2e/private/x", 401},
			{"admin.example.org", "/private%2fx", 400}, {"admin.example.org", `/private\x`, 400}, {"admin.example.org", "/private/x#y", 400}, {"example.org", "/private/x", 200},
		} {
			r := &http.Request{Method: "GET", URL: &url.URL{Scheme: "https", Host: addr, Opaque: c.target}, Host: c.host, Header: http.Header{}}
			ctx, cancel := context.WithTimeout(t.Context(), clientTimeout)
			defer cancel()
			resp, err := transport.RoundTrip(r.WithContext(ctx))
			if err != nil {
				t.Fatalf("%+v: got %v, want a response", c, err)
			}
			body, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if resp.StatusCode != c.status || strings.Contains(string(body), secret) {
				t.Errorf("%+v: got %d %q, want %d without the secret", c, resp.StatusCode, body, c.status)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}
