package server

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quic-go/quic-go/http3"

	"weir/internal/certificate/certtest"
)

// shows answers with what the server knows of the request.
var shows = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	secure := "plain"
	if r.TLS != nil {
		secure = r.TLS.NegotiatedProtocol
	}
	body, _ := io.ReadAll(r.Body)
	fmt.Fprintf(w, "%s %s %s", r.Proto, secure, body)
})

// files writes a new certificate to dir, replacing an earlier one.
func files(t *testing.T, a *certtest.Authority, dir, name string) *TLS {
	f := new(TLS)
	f.CertFile, f.KeyFile = a.Files(t, dir, name)
	return f
}

func write(t *testing.T, name string, text []byte) {
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// browser trusts the authority and resolves every name to addr.
func browser(t *testing.T, a *certtest.Authority, addr string, protocols ...string) *http.Client {
	tr := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: a.Pool, NextProtos: protocols, ServerName: "weir.test"},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, addr)
		},
		Protocols: new(http.Protocols),
	}
	tr.Protocols.SetHTTP1(true)
	tr.Protocols.SetHTTP2(len(protocols) == 0)
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: waitTimeout}
}

// fetch posts "hello" and returns the response.
func fetch(t *testing.T, c *http.Client) (*http.Response, string) {
	t.Helper()
	resp, err := c.Post("https://weir.test/", "text/plain", strings.NewReader("hello"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

func TestOverTLSEveryVersionIsServed(t *testing.T) {
	a := certtest.New(t)
	s := start(t, Config{TLS: files(t, a, t.TempDir(), "weir.test"), HTTP3: true}, shows)
	if _, body := fetch(t, browser(t, a, s.addr, "http/1.1")); body != "HTTP/1.1 http/1.1 hello" {
		t.Errorf("over HTTP/1.1: got %q, want %q", body, "HTTP/1.1 http/1.1 hello")
	}
	resp, body := fetch(t, browser(t, a, s.addr))
	if body != "HTTP/2.0 h2 hello" {
		t.Errorf("over HTTP/2: got %q, want %q", body, "HTTP/2.0 h2 hello")
	}
	_, port, _ := net.SplitHostPort(s.addr)
	if alt := resp.Header.Get("Alt-Svc"); !strings.HasPrefix(alt, `h3=":`+port+`"`) {
		t.Errorf("Alt-Svc is %q, want HTTP/3 on port %s", alt, port)
	}
	h3 := &http3.Transport{TLSClientConfig: &tls.Config{RootCAs: a.Pool, ServerName: "weir.test"}}
	defer h3.Close()
	resp, err := (&http.Client{Transport: h3, Timeout: waitTimeout}).Post("https://"+s.addr+"/", "text/plain", strings.NewReader("hello"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	if resp.Body.Close(); string(text) != "HTTP/3.0 h3 hello" || err != nil {
		t.Errorf("over HTTP/3: got %q, error %v, want %q", text, err, "HTTP/3.0 h3 hello")
	}
}

// secure returns a TLS connection that negotiates HTTP/1.1.
func secure(t *testing.T, a *certtest.Authority, addr string) *tls.Conn {
	c := tls.Client(dial(t, addr), &tls.Config{RootCAs: a.Pool, ServerName: "weir.test", NextProtos: []string{"http/1.1"}})
	if err := c.Handshake(); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestFramingIsCheckedOverTLS(t *testing.T) {
	a := certtest.New(t)
	s := start(t, Config{TLS: files(t, a, t.TempDir(), "weir.test")}, saying("good"))
	c := secure(t, a, s.addr)
	io.WriteString(c, get+"GET / HTTP/1.1\nHost: a\n\n")
	r := bufio.NewReader(c)
	if _, body := answer(t, r); body != "good" {
		t.Errorf("the valid request before the malformed one: got %q, want %q", body, "good")
	}
	if resp, _ := answer(t, r); resp.StatusCode != 400 {
		t.Errorf("bare LF: got %s, want 400", resp.Status)
	}
}

func TestConnectionsOverTLSCanBeHijacked(t *testing.T) {
	a := certtest.New(t)
	s := start(t, Config{TLS: files(t, a, t.TempDir(), "weir.test")}, echo(t))
	c := secure(t, a, s.addr)
	io.WriteString(c, upgrade+"early")
	r := bufio.NewReader(c)
	if _, err := http.ReadResponse(r, nil); err != nil {
		t.Fatal(err)
	}
	expect(t, r, "early")
	if err := s.stop(); err != nil {
		t.Errorf("Run returned %v, want nil", err)
	}
	expect(t, r, "bye")
}

func TestShutdownClosesConnectionsAfterTheHandshake(t *testing.T) {
	a := certtest.New(t)
	s := start(t, Config{TLS: files(t, a, t.TempDir(), "weir.test"), DrainTimeout: time.Hour}, shows)
	c := secure(t, a, s.addr)
	wait(t, "the connection is with the engine", func() bool { return s.Connections() == 1 })
	if err := s.stop(); err != nil {
		t.Errorf("Run returned %v, want nil: a connection without a request ends at once", err)
	}
	if _, err := c.Read(make([]byte, 1)); err == nil || timedOut(err) {
		t.Errorf("the connection got %v, want EOF", err)
	}
}

func TestSlowHandshakesAreDropped(t *testing.T) {
	a := certtest.New(t)
	s := start(t, Config{TLS: files(t, a, t.TempDir(), "weir.test"), HeaderTimeout: shortTimeout, ErrorLog: func(string) {}}, shows)
	c := dial(t, s.addr)
	io.WriteString(c, "\x16\x03\x01")
	if _, err := c.Read(make([]byte, 1)); err == nil || timedOut(err) {
		t.Errorf("a stalled handshake got %v, want EOF", err)
	}
}

func TestPlainHTTPOnATLSPortIsAnswered400(t *testing.T) {
	a := certtest.New(t)
	s := start(t, Config{TLS: files(t, a, t.TempDir(), "weir.test")}, shows)
	c := dial(t, s.addr)
	io.WriteString(c, get)
	if resp, body := answer(t, bufio.NewReader(c)); resp.StatusCode != 400 || !strings.Contains(body, "https://") {
		t.Errorf("got %s %q, want 400 and the address with https", resp.Status, body)
	}
}

func TestShutdownClosesIdleHTTP2Connections(t *testing.T) {
	a := certtest.New(t)
	s := start(t, Config{TLS: files(t, a, t.TempDir(), "weir.test")}, shows)
	fetch(t, browser(t, a, s.addr))
	if err := s.stop(); err != nil {
		t.Errorf("Run returned %v, want nil: an idle connection ends at once", err)
	}
}

// name returns the name on the certificate that a new client receives.
func name(t *testing.T, addr string) string {
	c := tls.Client(dial(t, addr), &tls.Config{InsecureSkipVerify: true})
	defer c.Close()
	if err := c.Handshake(); err != nil {
		t.Fatal(err)
	}
	return c.ConnectionState().PeerCertificates[0].DNSNames[0]
}

func TestCertificateFilesAreReadAgain(t *testing.T) {
	a, dir := certtest.New(t), t.TempDir()
	var mu sync.Mutex
	var logged []string
	s := start(t, Config{TLS: files(t, a, dir, "old.test"), ErrorLog: func(line string) {
		mu.Lock()
		defer mu.Unlock()
		logged = append(logged, line)
	}}, shows)
	if got := name(t, s.addr); got != "old.test" {
		t.Errorf("certificate for %s, want old.test", got)
	}
	f := files(t, a, dir, "new.test")
	wait(t, "the new certificate is in use", func() bool { return name(t, s.addr) == "new.test" })
	write(t, f.CertFile, []byte("rubbish"))
	wait(t, "the fault is reported", func() bool {
		if got := name(t, s.addr); got != "new.test" {
			t.Errorf("certificate for %s, want still new.test", got)
		}
		mu.Lock()
		defer mu.Unlock()
		return len(logged) > 0
	})
	if len(logged) != 1 || !strings.Contains(logged[0], "the previous certificate stays in use") {
		t.Errorf("error log: got %q, want one line: the previous certificate stays in use", logged)
	}
	if err := os.Remove(f.CertFile); err != nil {
		t.Fatal(err)
	}
	files(t, a, dir, "newer.test")
	wait(t, "the newer certificate is in use", func() bool { return name(t, s.addr) == "newer.test" })
}

func TestServerObtainsCertificatesByACME(t *testing.T) {
	a := certtest.New(t)
	var s *running
	started := make(chan struct{}) // carries no values; closed when s is set
	a.Serve(t, func() string { <-started; return s.addr })
	roots := a.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	config := Config{
		TLS:      &TLS{ACME: &ACME{Names: []string{"weir.test"}, Agreed: true, Dir: t.TempDir(), CA: a.URL + "/directory", CARoots: roots}},
		ErrorLog: func(string) {}, // handshakes fail before there is a certificate
	}
	s = start(t, config, shows)
	close(started)
	c := browser(t, a, s.addr)
	wait(t, "the certificate is there", func() bool {
		resp, err := c.Get("https://weir.test/")
		if err != nil {
			time.Sleep(10 * time.Millisecond)
			return false
		}
		resp.Body.Close()
		return true
	})
	if got := len(s.h2.TLSNextProto); got == 0 {
		t.Error("got no HTTP/2 in TLSNextProto, want it with certificates by ACME")
	}
}
