package server

import (
	"crypto/tls"
	"io"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/quic-go/quic-go/http3"

	"weir/internal/certificate/certtest"
	"weir/serve"
)

// oneSession is a client's cache that offers its session to every server and under every name.
type oneSession struct{ session *tls.ClientSessionState }

func (o *oneSession) Get(string) (*tls.ClientSessionState, bool) {
	return o.session, o.session != nil
}

func (o *oneSession) Put(_ string, s *tls.ClientSessionState) {
	if s != nil {
		o.session = s
	}
}

// resumed makes an exchange, and reports whether it resumed the session of the cache. Its end
// brings the ticket of TLS 1.3.
func resumed(t *testing.T, addr, name string, cache *oneSession, version uint16) bool {
	t.Helper()
	c := tls.Client(dial(t, addr), &tls.Config{
		InsecureSkipVerify: true, ServerName: name, ClientSessionCache: cache, NextProtos: []string{"http/1.1"}, MaxVersion: version,
	})
	defer c.Close()
	io.WriteString(c, "GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n")
	if _, err := io.ReadAll(c); err != nil {
		t.Fatal(err)
	}
	return c.ConnectionState().DidResume
}

func wantResumed(t *testing.T, what string, got, want bool) {
	t.Helper()
	if got != want {
		t.Errorf("%s: the session was resumed: %v, want %v", what, got, want)
	}
}

func TestSessionsResumeAfterARestart(t *testing.T) {
	for name, version := range map[string]uint16{"TLS 1.3": tls.VersionTLS13, "TLS 1.2": tls.VersionTLS12} {
		t.Run(name, func(t *testing.T) {
			a, dir := certtest.New(t), t.TempDir()
			config := Config{TLS: files(t, a, dir, "a.test")}
			config.TLS.TicketKeys = filepath.Join(dir, "tickets")
			s := start(t, config, shows)
			cache := new(oneSession)
			wantResumed(t, "the first connection", resumed(t, s.addr, "a.test", cache, version), false)
			wantResumed(t, "the second connection", resumed(t, s.addr, "a.test", cache, version), true)
			if err := s.stop(); err != nil {
				t.Fatal(err)
			}
			files(t, a, dir, "a.test") // the certificate is renewed meanwhile
			s = start(t, config, shows)
			wantResumed(t, "after a restart", resumed(t, s.addr, "a.test", cache, version), true)
			other := config
			other.TLS = &TLS{CertFile: config.TLS.CertFile, KeyFile: config.TLS.KeyFile, TicketKeys: filepath.Join(dir, "others")}
			wantResumed(t, "at a server with other keys", resumed(t, start(t, other, shows).addr, "a.test", cache, version), false)
		})
	}
}

func TestSelfSignedServersKeepTheKeysOfSessionsInTheirFolder(t *testing.T) {
	config := Config{TLS: &TLS{Local: &Local{Dir: t.TempDir()}}}
	s := start(t, config, shows)
	cache := new(oneSession)
	resumed(t, s.addr, "localhost", cache, 0)
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}
	wantResumed(t, "after a restart", resumed(t, start(t, config, shows).addr, "localhost", cache, 0), true)
}

// TestASessionIsNotResumedWhereItsNameWasNotVerified: an attacker who redirects a connection to
// another server of the same keys must not make the client take that server for the requested one.
func TestASessionIsNotResumedWhereItsNameWasNotVerified(t *testing.T) {
	a, keys := certtest.New(t), filepath.Join(t.TempDir(), "tickets")
	both := files(t, a, t.TempDir(), "a.test")
	both.TicketKeys, both.More = keys, []TLS{*files(t, a, t.TempDir(), "b.test")}
	other := files(t, a, t.TempDir(), "b.test")
	other.TicketKeys = keys
	first, second := start(t, Config{TLS: both}, shows), start(t, Config{TLS: other}, shows)
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		cache := new(oneSession)
		resumed(t, first.addr, "a.test", cache, version)
		wantResumed(t, "under the name of another certificate of the server", resumed(t, first.addr, "b.test", &oneSession{cache.session}, version), false)
		wantResumed(t, "without a name", resumed(t, first.addr, "", &oneSession{cache.session}, version), false)
		wantResumed(t, "at a server without a certificate for the name", resumed(t, second.addr, "a.test", &oneSession{cache.session}, version), false)
		wantResumed(t, "under the same name at the same server", resumed(t, first.addr, "a.test", cache, version), true)
		resumed(t, first.addr, "b.test", cache, version)
		wantResumed(t, "at another server with a certificate for the name", resumed(t, second.addr, "b.test", cache, version), true)
	}
}

func TestSessionsResumeInOtherChildProcesses(t *testing.T) {
	eachProcessModel(t, func(t *testing.T, way serve.Way, s *running) {
		if s.config.TLS == nil {
			t.Skip("without TLS there are no sessions")
		}
		cache := new(oneSession)
		resumed(t, s.addr, "a", cache, 0)
		for i := range 4 { // of prefork, each child gets its share
			wantResumed(t, "connection "+string(rune('2'+i)), resumed(t, s.addr, "a", cache, 0), true)
		}
	})
}

func TestSessionsOfHTTP3ResumeAfterARestart(t *testing.T) {
	a, dir := certtest.New(t), t.TempDir()
	config := Config{TLS: files(t, a, dir, "a.test"), HTTP3: true}
	config.TLS.TicketKeys = filepath.Join(dir, "tickets")
	cache := tls.NewLRUClientSessionCache(4)
	resumes := func(s *running) bool {
		transport := &http3.Transport{TLSClientConfig: &tls.Config{RootCAs: a.Pool, ServerName: "a.test", ClientSessionCache: cache}}
		defer transport.Close()
		resp, err := (&http.Client{Transport: transport, Timeout: waitTimeout}).Get("https://" + s.addr + "/")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		io.Copy(io.Discard, resp.Body)
		return resp.TLS.DidResume
	}
	s := start(t, config, shows)
	if resumes(s) {
		t.Error("the first connection: the session was resumed, want a full handshake")
	}
	// the ticket comes behind the answer
	wait(t, "a session is resumed", func() bool { return resumes(s) })
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}
	s = start(t, config, shows)
	wait(t, "a session is resumed after a restart", func() bool { return resumes(s) })
}
