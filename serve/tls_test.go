package serve

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// TLS runs on the net.Conn that a handler receives, by every model, with the
// handshake on the event loop and off it.

// eachTLSModel runs f for every model that runs handlers, with the handshake on the loop and off.
func eachTLSModel(t *testing.T, f func(t *testing.T, w Way, start func(Options) *running)) {
	eachTLSService(t, "", f)
}

// eachTLSService is eachTLSModel for the services whose names have that suffix.
func eachTLSService(t *testing.T, suffix string, f func(t *testing.T, w Way, start func(Options) *running)) {
	for i, trait := range Ways {
		for _, name := range []string{"tls", "tls-off"} {
			onLoops := Way(i) == Loop || Way(i) == Coroutine || Way(i) == Prefork
			if trait.LinuxOnly && !onLinux || name == "tls-off" && !onLoops {
				continue
			}
			before := descriptors(t)
			t.Run(trait.Name+"/"+name, func(t *testing.T) {
				f(t, Way(i), func(o Options) *running {
					if Way(i) == Prefork {
						o.Workers = 2
					}
					return startService(t, Way(i), handlers, services[name+suffix], o)
				})
			})
			eventually(t, "all descriptors closed", func() bool { return descriptors(t) <= before })
		}
	}
}

// clientTLS returns a client's configuration for one version of TLS.
func clientTLS(version uint16) *tls.Config {
	return &tls.Config{InsecureSkipVerify: true, MinVersion: version, MaxVersion: version}
}

var tlsVersions = []uint16{tls.VersionTLS12, tls.VersionTLS13}

// echoesOverTLS sends text, closes for writing, and expects the text and a close-notify.
func echoesOverTLS(t *testing.T, c *tls.Conn, text []byte) {
	t.Helper()
	defer c.NetConn().Close()
	sent := make(chan error, 1)
	go func() {
		_, err := c.Write(text)
		sent <- errors.Join(err, c.CloseWrite())
	}()
	got, err := io.ReadAll(c)
	if err != nil || !bytes.Equal(got, text) {
		t.Errorf("%s: got %d bytes back, equal: %v, error %v; want the %d that were sent, and a close-notify",
			tls.VersionName(c.ConnectionState().Version), len(got), bytes.Equal(got, text), err, len(text))
	}
	if err := <-sent; err != nil {
		t.Errorf("sending: got error %v, want none", err)
	}
}

func TestTLSEchoesAMegabyteBothWays(t *testing.T) {
	eachTLSModel(t, func(t *testing.T, _ Way, start func(Options) *running) {
		r := start(Options{})
		var clients sync.WaitGroup
		for _, version := range tlsVersions {
			for _, size := range []int{0, 1, 1 << 20} {
				c := tls.Client(r.dial(), clientTLS(version))
				clients.Go(func() { echoesOverTLS(t, c, noise(uint64(size), size)) })
			}
		}
		clients.Wait()
		r.stopsCleanly()
	})
}

// TestTLSResumesSessions, also where another process serves the next connection.
func TestTLSResumesSessions(t *testing.T) {
	eachTLSModel(t, func(t *testing.T, _ Way, start func(Options) *running) {
		r := start(Options{})
		for _, version := range tlsVersions {
			config := clientTLS(version)
			config.ClientSessionCache, config.ServerName = tls.NewLRUClientSessionCache(1), "localhost"
			for i := range 4 {
				c := tls.Client(r.dial(), config)
				echoesOverTLS(t, c, []byte("ticket")) // which arrives before this
				if resumed := c.ConnectionState().DidResume; resumed != (i > 0) {
					t.Errorf("%s, connection %d: got DidResume %v, want %v", tls.VersionName(version), i, resumed, i > 0)
				}
			}
		}
		r.stopsCleanly()
	})
}

// cutConn fails after so many bytes of output, and closes the connection.
type cutConn struct {
	*net.TCPConn
	left  int
	abort bool // the close is a reset
}

func (c *cutConn) Write(p []byte) (int, error) {
	if len(p) <= c.left {
		c.left -= len(p)
		return c.TCPConn.Write(p)
	}
	n, _ := c.TCPConn.Write(p[:c.left])
	if c.left = 0; c.abort {
		c.SetLinger(0)
	}
	c.Close()
	return n, net.ErrClosed
}

// TestAnAbortedTLSHandshakeEndsItsConnectionOnly, wherever it is cut. WEIR_SERVE_TLS_CUTS=all cuts
// it after every byte of the client.
func TestAnAbortedTLSHandshakeEndsItsConnectionOnly(t *testing.T) {
	eachTLSModel(t, func(t *testing.T, w Way, start func(Options) *running) {
		step := 41
		if os.Getenv("WEIR_SERVE_TLS_CUTS") == "all" {
			step = 1
		} else if w == Process {
			step = 400
		}
		r := start(Options{})
		stays := tls.Client(r.dial(), clientTLS(tls.VersionTLS13))
		exchange(t, stays, "before")
		for _, version := range tlsVersions {
			for cut := 0; ; cut += step {
				peer := r.dial()
				c := tls.Client(&cutConn{TCPConn: peer, left: cut, abort: cut/step%2 == 0}, clientTLS(version))
				err := c.Handshake()
				peer.Close()
				if err == nil {
					break
				}
			}
		}
		stays.SetDeadline(time.Now().Add(hangLimit)) // all cuts take longer than dial allows for
		exchange(t, stays, "after")
		stays.NetConn().Close()
		r.stopsCleanly()
	})
}

func TestATLSHandshakeHasADeadline(t *testing.T) {
	eachTLSService(t, "-hasty", func(t *testing.T, _ Way, start func(Options) *running) {
		r := start(Options{})
		for _, hello := range []string{"", "\x16", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"} {
			c := r.dialSoon()
			io.WriteString(c, hello)
			if got, err := io.ReadAll(c); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("after %d bytes of a handshake: got %d bytes and no end, want the end after %v", len(hello), len(got), shortTimeout)
			}
			c.Close()
		}
		r.stopsCleanly()
	})
}

// TestTLSToASlowReaderDelaysNoOther: the peer sends much and reads nothing, then all.
func TestTLSToASlowReaderDelaysNoOther(t *testing.T) {
	eachTLSModel(t, func(t *testing.T, _ Way, start func(Options) *running) {
		r := start(Options{})
		slow := tls.Client(r.dial(), clientTLS(tls.VersionTLS13))
		text := noise(1, 6<<20)
		sent := make(chan error, 1)
		go func() {
			_, err := slow.Write(text)
			sent <- errors.Join(err, slow.CloseWrite())
		}()
		for range 3 {
			echoesOverTLS(t, tls.Client(r.dialSoon(), clientTLS(tls.VersionTLS13)), noise(2, 10_000))
		}
		got, err := io.ReadAll(slow)
		if err := errors.Join(err, <-sent); err != nil || !bytes.Equal(got, text) {
			t.Errorf("the slow reader got %d bytes, error %v; want the %d that it sent", len(got), err, len(text))
		}
		slow.NetConn().Close()
		r.stopsCleanly()
	})
}

func TestATLSClientThatVanishesEndsItsConnectionOnly(t *testing.T) {
	eachTLSModel(t, func(t *testing.T, _ Way, start func(Options) *running) {
		r := start(Options{})
		stays := tls.Client(r.dial(), clientTLS(tls.VersionTLS13))
		exchange(t, stays, "before")
		for reset := range 2 {
			peer := r.dial()
			c := tls.Client(peer, clientTLS(tls.VersionTLS13))
			exchange(t, c, "here")
			go c.Write(make([]byte, 1<<20))
			if reset == 1 {
				peer.SetLinger(0)
			}
			peer.Close() // without a close-notify
		}
		stays.SetDeadline(time.Now().Add(hangLimit)) // all cuts take longer than dial allows for
		exchange(t, stays, "after")
		stays.NetConn().Close()
		r.stopsCleanly()
	})
}

// TestAStopEndsTLSHandshakes: clients that have sent a part of theirs do not delay it.
func TestAStopEndsTLSHandshakes(t *testing.T) {
	eachTLSModel(t, func(t *testing.T, _ Way, start func(Options) *running) {
		r := start(Options{})
		up := tls.Client(r.dial(), clientTLS(tls.VersionTLS13))
		exchange(t, up, "up")
		var peers []net.Conn
		for range 4 {
			c := r.dialSoon()
			io.WriteString(c, "\x16\x03\x01")
			peers = append(peers, c)
		}
		r.stopsCleanly()
		for _, c := range append(peers, up) {
			if _, err := io.ReadAll(c); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Error("a connection is open after the stop, want it closed")
			}
		}
		up.NetConn().Close()
	})
}

// TestTheDeadlineOfAStopEndsTLSHandshakes that a stop does not end: on a coroutine they read by
// NetConn.
func TestTheDeadlineOfAStopEndsTLSHandshakes(t *testing.T) {
	config, err := testTLS()
	if err != nil {
		t.Fatal(err)
	}
	for name, run := range map[string]func(net.Conn, func()){"on the loop": onLoop, "off the loop": OffLoop} {
		eachModel(t, func(t *testing.T, w Way) {
			entered, ended := make(chan struct{}), make(chan error, 1)
			r := startService(t, w, handlers, service{handle: func(c net.Conn) {
				inner := c.(interface{ NetConn() net.Conn }).NetConn()
				close(entered)
				run(c, func() { ended <- tls.Server(inner, config).Handshake() })
			}}, Options{DrainTimeout: 20 * time.Millisecond})
			c := r.dialSoon()
			receive(t, entered, "the start of the handshake")
			io.WriteString(c, "\x16\x03\x01")
			if err := r.stop(); w == Coroutine && !errors.Is(err, ErrDeadline) {
				t.Errorf("%s: Run returned %v, want ErrDeadline", name, err)
			}
			if err := receive(t, ended, "the end of the handshake"); err == nil {
				t.Errorf("%s: the handshake returned nil, want an error", name)
			}
		})
	}
}

// openssl runs openssl s_client against the service with the input, and returns what it printed.
func openssl(t *testing.T, addr, input string, options ...string) string {
	t.Helper()
	path, err := exec.LookPath("openssl")
	if err != nil {
		t.Skip("openssl is not installed: apt-get install openssl")
	}
	s := exec.Command(path, append([]string{"s_client", "-connect", addr}, options...)...)
	in, err := s.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	s.Stdout, s.Stderr = &out, &out
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	io.WriteString(in, input)
	kill := time.AfterFunc(hangLimit, func() { s.Process.Kill() })
	defer kill.Stop()
	s.Wait()
	return out.String()
}

// TestTLSServesOpenSSL, and refuses its request to renegotiate by an alert.
func TestTLSServesOpenSSL(t *testing.T) {
	eachTLSModel(t, func(t *testing.T, _ Way, start func(Options) *running) {
		r := start(Options{})
		for _, version := range []string{"-tls1_2", "-tls1_3"} {
			if out := openssl(t, r.addr, "Q\n", version); !strings.Contains(out, "DONE") {
				t.Errorf("openssl s_client %s: got %s, want a handshake and DONE", version, out)
			}
		}
		if out := openssl(t, r.addr, "R\n", "-tls1_2"); !strings.Contains(out, "RENEGOTIATING") || !strings.Contains(out, " alert ") {
			t.Errorf("openssl s_client asked for renegotiation: got %s, want it refused", out)
		}
		r.stopsCleanly()
	})
}
