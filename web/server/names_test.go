package server

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quic-go/quic-go/http3"

	"weir/internal/certificate/certtest"
)

// names returns the names of the certificate that a client gets, by a handshake over TCP.
func names(t *testing.T, addr string, client *tls.Config) []string {
	t.Helper()
	c := tls.Client(dial(t, addr), client)
	if err := c.Handshake(); err != nil {
		t.Fatalf("handshake for %q: got %v, want none", client.ServerName, err)
	}
	return c.ConnectionState().PeerCertificates[0].DNSNames
}

func TestEachServerNameGetsItsCertificateOverEveryVersion(t *testing.T) {
	a := certtest.New(t)
	config := files(t, a, t.TempDir(), "a.test")
	config.More = []TLS{*files(t, a, t.TempDir(), "b.test"), *files(t, a, t.TempDir(), "*.wild.test")}
	s := start(t, Config{TLS: config, HTTP3: true}, shows)
	for name, want := range map[string]string{"a.test": "a.test", "b.test": "b.test", "x.wild.test": "*.wild.test", "none.test": "a.test"} {
		if got := names(t, s.addr, &tls.Config{RootCAs: a.Pool, ServerName: name, InsecureSkipVerify: name == "none.test"}); got[0] != want {
			t.Errorf("%s: got the certificate of %s, want that of %s", name, got, want)
		}
	}
	h3 := &http3.Transport{TLSClientConfig: &tls.Config{RootCAs: a.Pool, ServerName: "b.test"}}
	defer h3.Close()
	resp, err := (&http.Client{Transport: h3, Timeout: waitTimeout}).Get("https://" + s.addr + "/")
	if err != nil || resp.TLS.PeerCertificates[0].DNSNames[0] != "b.test" {
		t.Fatalf("over HTTP/3, b.test: got %v, %v; want its certificate", resp, err)
	}
	resp.Body.Close()
}

func TestALocalCertificateStandsBesideOthers(t *testing.T) {
	a, local := certtest.New(t), &Local{Dir: filepath.Join(t.TempDir(), "store"), Names: []string{"app.test"}}
	config := files(t, a, t.TempDir(), "a.test")
	config.More = []TLS{{Local: local}}
	s := start(t, Config{TLS: config}, shows)
	text, err := os.ReadFile(local.CertFile())
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(text)
	for _, name := range []string{"localhost", "app.test"} {
		names(t, s.addr, &tls.Config{RootCAs: roots, ServerName: name})
	}
	names(t, s.addr, &tls.Config{RootCAs: a.Pool, ServerName: "a.test"})
}

func TestCertificatesThatCannotWorkAreRejected(t *testing.T) {
	a := certtest.New(t)
	good := *files(t, a, t.TempDir(), "a.test")
	with := func(more ...TLS) *TLS {
		c := good
		c.More = more
		return &c
	}
	for want, c := range map[string]*TLS{
		"more than one source":             {CertFile: "a", KeyFile: "b", Local: &Local{Dir: "d"}},
		"TLS needs CertFile and KeyFile":   with(TLS{}),
		"set files, ACME or Local":         with(*with(good)),
		"no such file":                     with(good, TLS{CertFile: "none", KeyFile: "none"}),
		"example.org is none":              {Local: &Local{Dir: t.TempDir(), Names: []string{"example.org"}}},
		"a folder to keep the authority's": {Local: &Local{}},
	} {
		s, err := New(shows, Config{Addr: "127.0.0.1:0", TLS: c})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, %v; want an error with %q", s, err, want)
		}
	}
}

func TestACMEObtainsACertificateBesideOneOfFiles(t *testing.T) {
	a := certtest.New(t)
	var s *running
	started := make(chan struct{}) // carries no values; closed when s is set
	a.Serve(t, func() string { <-started; return s.addr })
	roots := a.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	config := files(t, a, t.TempDir(), "a.test")
	config.More = []TLS{{ACME: &ACME{Names: []string{"weir.test"}, Agreed: true, Dir: t.TempDir(), CA: a.URL + "/directory", CARoots: roots}}}
	s = start(t, Config{TLS: config, ErrorLog: func(string) {}}, shows)
	close(started)
	// while there is none by ACME, too
	names(t, s.addr, &tls.Config{RootCAs: a.Pool, ServerName: "a.test"})
	wait(t, "the certificate by ACME is there", func() bool {
		c := tls.Client(dial(t, s.addr), &tls.Config{RootCAs: a.Pool, ServerName: "weir.test"})
		defer c.Close()
		return c.Handshake() == nil
	})
	if got := names(t, s.addr, &tls.Config{RootCAs: a.Pool, ServerName: "a.test"}); got[0] != "a.test" {
		t.Errorf("a.test: got the certificate of %s, want its own", got)
	}
}
