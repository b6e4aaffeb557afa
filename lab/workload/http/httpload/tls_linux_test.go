package httpload

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	nethttp "net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"weir/lab/internal/oneloop"
	"weir/lab/internal/tlsclient"

	"golang.org/x/sys/unix"

	"weir/lab/load"
)

// certificate returns a self-signed certificate for localhost and 127.0.0.1 that is valid around
// the given time, and its PEM.
func certificate(t *testing.T, at time.Time) (tls.Certificate, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "weir test"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: at.Add(-time.Hour), NotAfter: at.Add(time.Hour), DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// secureWeb starts an HTTPS server that answers every request with page, after change has changed
// its settings. It returns a Config that trusts it.
func secureWeb(t *testing.T, change func(*tls.Config)) Config {
	t.Helper()
	return secureHandler(t, change, func(*nethttp.Request) {})
}

// secureHandler is secureWeb with a server that calls note with each request.
func secureHandler(t *testing.T, change func(*tls.Config), note func(*nethttp.Request)) Config {
	return secureServer(t, func(s *httptest.Server) { change(s.TLS) }, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		note(r)
		w.Write([]byte(page)) //nolint:errcheck // the client sees it
	})
}

// secureServer is secureHandler with any handler.
func secureServer(t *testing.T, change func(*httptest.Server), h nethttp.HandlerFunc) Config {
	t.Helper()
	own, ca := certificate(t, time.Now())
	s := httptest.NewUnstartedServer(h)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{own}}
	change(s)
	s.StartTLS()
	t.Cleanup(s.Close)
	c := lenient(s.URL + "/")
	c.TLS.CA = ca
	return c
}

// secure returns a handler that negotiates TLS and then runs handle. Its Close sends close_notify.
func secure(own tls.Certificate, handle func(net.Conn)) func(net.Conn) {
	return func(c net.Conn) {
		t := tls.Server(c, &tls.Config{Certificates: []tls.Certificate{own}})
		if t.HandshakeContext(context.Background()) != nil {
			return
		}
		handle(t)
		t.Close()
	}
}

func TestHTTPSRequestsAreAnsweredAndHandshakesCounted(t *testing.T) {
	for _, server := range []struct {
		name, version, keyExchange string
		change                     func(*tls.Config)
	}{
		{"TLS 1.3", "TLS 1.3", "X25519", func(c *tls.Config) { c.CurvePreferences = []tls.CurveID{tls.X25519} }},
		{"TLS 1.2", "TLS 1.2", "P-256", func(c *tls.Config) {
			c.MaxVersion, c.CurvePreferences = tls.VersionTLS12, []tls.CurveID{tls.CurveP256}
		}},
	} {
		t.Run(server.name, func(t *testing.T) {
			base := secureWeb(t, server.change)
			for name, change := range map[string]func(*Config){
				"closed loop":                         func(c *Config) { c.Requests = 60 },
				"closed loop, no keep-alive":          func(c *Config) { c.Requests, c.Close = 60, true },
				"closed loop, no keep-alive, resumed": func(c *Config) { c.Requests, c.Close, c.TLS.Resume = 60, true, true },
				"open loop":                           func(c *Config) { c.Rate, c.Duration = 1000, 60*time.Millisecond },
				"open loop, no keep-alive":            func(c *Config) { c.Rate, c.Duration, c.Close, c.Connections = 1000, 60*time.Millisecond, true, 200 },
				"the first body expected, resumed":    func(c *Config) { c.Requests, c.Expect, c.TLS.Resume = 60, nil, true },
			} {
				t.Run(name, func(t *testing.T) {
					c := base
					change(&c)
					r := mustRun(t, c)
					checkAnswered(t, r, 60)
					checkTLS(t, c, r, server.version, server.keyExchange)
				})
			}
		})
	}
}

func checkAnswered(t *testing.T, r Report, n int64) {
	t.Helper()
	if r.Answered != n || r.Failed != 0 || len(r.Errors) != 0 {
		t.Errorf("got %d answered, %d failed, errors %v %q; want %d answered and no error", r.Answered, r.Failed, r.Errors, r.Details, n)
	}
}

func checkTLS(t *testing.T, c Config, r Report, version, keyExchange string) {
	t.Helper()
	s := r.TLS
	if s == nil {
		t.Fatal("got no parameters of TLS, want them in the report")
	}
	if s.Version != version || s.KeyExchange != keyExchange || s.Cipher == "" || s.ALPN != "http/1.1" || s.ServerName != "127.0.0.1" || !s.Verified {
		t.Errorf("got %+v, want %s, %s, http/1.1 and the verified certificate of 127.0.0.1", s, version, keyExchange)
	}
	want := int64(0)
	if c.TLS.Resume {
		want = r.Opened // the first request, which is not counted, made a session
	}
	if s.Handshakes != r.Opened || s.Resumed != want {
		t.Errorf("got %d handshakes, %d resumed; want %d and %d", s.Handshakes, s.Resumed, r.Opened, want)
	}
	if c.Rate > 0 {
		return // requests can end after the window, and then have no times but latency
	}
	if s.HandshakeUS.Min <= 0 {
		t.Errorf("got a handshake of %v us, want more than 0", s.HandshakeUS.Min)
	}
	if r.TotalUS.Min <= s.HandshakeUS.Min && c.Close {
		t.Errorf("got a total of %v us, want more than the handshake's %v us: it is part of a request without keep-alive", r.TotalUS.Min, s.HandshakeUS.Min)
	}
}

func TestTheKeyExchangeCanBeChosen(t *testing.T) {
	c := secureWeb(t, func(*tls.Config) {})
	for name := range tlsclient.KeyExchanges {
		c.Requests, c.TLS.KeyExchange = 4, name
		if r := mustRun(t, c); r.Messages != 4 || r.TLS.KeyExchange != name {
			t.Errorf("%s: got %d answers by %s, want 4 by it", name, r.Messages, r.TLS.KeyExchange)
		}
	}
}

func TestAFailedHandshakeSaysWhatToDo(t *testing.T) {
	for _, test := range []struct {
		name   string
		at     time.Time
		server func(*tls.Config)
		client func(*TLS)
		want   string
	}{
		{"trusted", time.Now(), nil, nil, ""},
		{"another name", time.Now(), nil, func(c *TLS) { c.ServerName = "localhost" }, ""},
		{"any certificate", time.Now(), nil, func(c *TLS) { *c = TLS{Insecure: true} }, ""},
		{"not trusted", time.Now(), nil, func(c *TLS) { c.CA = nil }, "the server's certificate is not trusted: give the certificate that signed it by --ca FILE, or accept any by --insecure"},
		{"wrong name", time.Now(), nil, func(c *TLS) { c.ServerName = "example.org" }, "is not for \"example.org\": give a name that it has by --server-name"},
		{"expired", time.Now().Add(-48 * time.Hour), nil, nil, "has expired or is not yet valid: renew it, or accept any by --insecure"},
		{"no HTTP/1.1", time.Now(), func(c *tls.Config) { c.NextProtos = []string{"smtp"} }, nil, "no application protocol"},
	} {
		t.Run(test.name, func(t *testing.T) {
			own, ca := certificate(t, test.at)
			settings := &tls.Config{Certificates: []tls.Certificate{own}}
			if test.server != nil {
				test.server(settings)
			}
			url := rawServer(t, func(c net.Conn) {
				says("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", false)(tls.Server(c, settings))
			})
			c := Config{URL: "https" + strings.TrimPrefix(url, "http"), Connections: 1, Requests: 2, Expect: []byte("x"), TLS: TLS{CA: ca}}
			if test.client != nil {
				test.client(&c.TLS)
			}
			_, err := Run(t.Context(), c, load.Events{})
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got error %v, want one with %q (empty: none)", err, test.want)
			}
		})
	}
}

func TestAServerWithoutTLSIsNamed(t *testing.T) {
	url := "https" + strings.TrimPrefix(web(t), "http")
	_, err := Run(t.Context(), Config{URL: url, Connections: 1, Requests: 1}, load.Events{})
	if err == nil || !strings.Contains(err.Error(), "does not speak TLS on this port: correct the port, or write a URL without TLS") {
		t.Errorf("got error %v, want that the server does not speak TLS", err)
	}
}

// onceSecure returns a server whose first connection, that of the first request, is served as it
// should be, and the others by handle.
func onceSecure(t *testing.T, own tls.Certificate, handle func(net.Conn)) string {
	first := make(chan struct{}, 1) // capacity 1: the token that the first connection takes
	first <- struct{}{}
	url := rawServer(t, func(c net.Conn) {
		select {
		case <-first:
			secure(own, says("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody", false))(c)
		default:
			handle(c)
		}
	})
	return "https" + strings.TrimPrefix(url, "http")
}

// TestEveryMisbehaviourBelowHTTPHasItsKind checks servers that break TLS, before and after the
// handshake.
func TestEveryMisbehaviourBelowHTTPHasItsKind(t *testing.T) {
	own, ca := certificate(t, time.Now())
	open := "HTTP/1.1 200 OK\r\n\r\nbody" // until the end of the connection
	speak := func(text string) func(net.Conn) { return secure(own, says(text, true)) }
	below := func(text string) func(net.Conn) { // answers, then sends text below TLS
		return func(c net.Conn) {
			secured := tls.Server(c, &tls.Config{Certificates: []tls.Certificate{own}})
			if secured.HandshakeContext(context.Background()) == nil {
				says(open, true)(secured)
				c.Write([]byte(text)) //nolint:errcheck // the client sees it
			}
		}
	}
	for _, test := range []struct {
		name   string
		handle func(net.Conn)
		want   string
	}{
		{"right until close_notify", speak(open), ""},
		{"close without close_notify", below(""), oneloop.KindClosed},
		{"close within a record", below("\x17\x03\x03\x00\x40half"), oneloop.KindClosed},
		{"a record that does not decrypt", below("\x17\x03\x03\x00\x20" + strings.Repeat("x", 32)), kindTLS},
		{"not a record", below(strings.Repeat("x", 32)), kindTLS},
		{"close instead of a handshake", func(c net.Conn) { c.Read(make([]byte, 4096)) }, oneloop.KindClosed},                            //nolint:errcheck // seen by the client
		{"close in the handshake", func(c net.Conn) { c.Read(make([]byte, 4096)); c.Write([]byte("\x16\x03\x03")) }, oneloop.KindClosed}, //nolint:errcheck // seen by the client
		{"no TLS", func(c net.Conn) { c.Write([]byte("SSH-2.0-OpenSSH\r\n")) }, kindTLS},                                                 //nolint:errcheck // seen by the client
		{"an untrusted certificate", func(c net.Conn) {
			other, _ := certificate(t, time.Now())
			secure(other, says(open, true))(c)
		}, kindTLS},
		{"never ends its handshake", func(c net.Conn) { bytes.NewBuffer(nil).ReadFrom(c) }, oneloop.KindTimeout}, //nolint:errcheck // until the client closes
	} {
		t.Run(test.name, func(t *testing.T) {
			for name, c := range map[string]Config{
				"closed loop": {Connections: 3, Close: true, Requests: 6},
				"open loop":   {Connections: 50, Close: true, Rate: 200, Duration: 30 * time.Millisecond},
			} {
				t.Run(name, func(t *testing.T) {
					c.URL, c.TLS.CA, c.Expect = onceSecure(t, own, test.handle), ca, []byte("body")
					checkKind(t, c, test.want, 6)
				})
			}
		})
	}
}

// TestPiecesOfRecordsAreJoined checks a server whose every byte, of the handshake too, arrives
// alone.
func TestPiecesOfRecordsAreJoined(t *testing.T) {
	own, ca := certificate(t, time.Now())
	url := rawServer(t, func(c net.Conn) {
		c.(*net.TCPConn).SetNoDelay(true) //nolint:errcheck // it is open
		secure(own, says("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody", false))(byteByByte{c})
	})
	r := mustRun(t, Config{URL: "https" + strings.TrimPrefix(url, "http"), Connections: 2, Requests: 10, Timeout: time.Minute, Expect: []byte("body"), TLS: TLS{CA: ca}})
	checkAnswered(t, r, 10)
}

type byteByByte struct{ net.Conn }

func (c byteByByte) Write(p []byte) (int, error) {
	for i := range p {
		if _, err := c.Conn.Write(p[i : i+1]); err != nil {
			return i, err
		}
	}
	return len(p), nil
}

// TestARunStopsInAHandshake checks that a run ends although handshakes are unfinished, and leaves
// no goroutine, which TestMain checks.
func TestARunStopsInAHandshake(t *testing.T) {
	own, ca := certificate(t, time.Now())
	ctx, cancel := context.WithCancel(t.Context())
	url := onceSecure(t, own, func(c net.Conn) {
		cancel()
		bytes.NewBuffer(nil).ReadFrom(c) //nolint:errcheck // until the client closes
	})
	_, err := Run(ctx, Config{URL: url, Connections: 3, Duration: time.Minute, Expect: []byte("body"), TLS: TLS{CA: ca}}, load.Events{})
	if err == nil || !strings.Contains(err.Error(), "canceled") {
		t.Errorf("got error %v, want that the run was canceled", err)
	}
}

func TestRequestsOverTLSAreNotDelayedByNagle(t *testing.T) {
	var delayed atomic.Int64
	c := secureHandler(t, func(*tls.Config) {}, func(r *nethttp.Request) {
		if !noDelay(t, r.RemoteAddr) {
			delayed.Add(1)
		}
	})
	c.Requests = 4
	checkAnswered(t, mustRun(t, c), 4)
	if n := delayed.Load(); n > 0 {
		t.Errorf("got %d requests on connections without TCP_NODELAY, want 0", n)
	}
}

// noDelay reports whether the socket of this process with the local address has TCP_NODELAY.
func noDelay(t *testing.T, local string) bool {
	for fd := range 4096 {
		at, err := unix.Getsockname(fd)
		in, ok := at.(*unix.SockaddrInet4)
		if err != nil || !ok || net.JoinHostPort(net.IP(in.Addr[:]).String(), strconv.Itoa(in.Port)) != local {
			continue
		}
		yes, err := unix.GetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY)
		return err == nil && yes != 0
	}
	t.Errorf("no socket of this process has the address %s", local)
	return false
}
