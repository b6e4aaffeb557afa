package front

import (
	"bufio"
	"context"
	"crypto/tls"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/chat"
	"weir/chat/account"
	"weir/internal/certificate"
	"weir/internal/certificate/certtest"
	"weir/serve"
)

// waitLimit is how long a test waits for an event.
const waitLimit = 30 * time.Second

// server is a chat with a listener in clear text and one by TLS.
type server struct {
	t           *testing.T
	dir         string
	chat        *chat.Service
	authority   *certtest.Authority
	source      *certificate.Source
	cert        string // the certificate's file
	plain, tls  string // addresses
	plainServed serve.Meter

	mu     sync.Mutex
	failed []error // handshakes
}

// setup is how a test's server is.
type setup struct {
	way, tlsWay serve.Way
	proxies     []string
	chat        chat.Options
	tls         Config
	wait        time.Duration // for a header
}

func start(t *testing.T, o setup) *server {
	t.Helper()
	s := &server{t: t, dir: t.TempDir(), authority: certtest.New(t)}
	if o.tls.Certificate == nil {
		cert, key := s.authority.Files(t, t.TempDir(), "weir.test")
		source, err := certificate.Files(cert, key, t.Logf)
		if err != nil {
			t.Fatal(err)
		}
		s.source, s.cert, o.tls.Certificate = source, cert, source
	}
	setDefault(&o.tls.HandshakeTimeout, waitLimit) // a test that is about it sets it
	setDefault(&o.wait, waitLimit)
	proxies, err := ParseProxies(o.proxies)
	if err != nil {
		t.Fatal(err)
	}
	o.tls.Proxies = proxies
	o.tls.OnFailure = func(_ net.Addr, err error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.failed = append(s.failed, err)
	}
	if s.chat, err = chat.Open(s.dir, o.chat); err != nil {
		t.Fatal(err)
	}
	clear, secure := listen(t), listen(t)
	s.plain, s.tls = clear.Addr().String(), secure.Addr().String()
	door := &Door{Chat: s.chat, Proxies: proxies, HeaderTimeout: o.wait}
	service := serve.Service{State: serve.InProcess, Open: door.Open}
	ctx, stop := context.WithCancel(context.Background())
	var runs sync.WaitGroup
	for l, way := range map[net.Listener]serve.Way{clear: o.way, Listen(secure, o.tls): o.tlsWay} {
		runs.Go(func() {
			options := serve.Options{SendQueue: chat.Outbox, Workers: 100, DrainTimeout: waitLimit}
			if l == clear {
				options.Meter = &s.plainServed
			}
			if err := serve.Run(ctx, way, l, service, options); err != nil {
				t.Errorf("serve.Run with %v: got %v, want nil", way, err)
			}
		})
	}
	t.Cleanup(func() {
		stop()
		runs.Wait()
		if err := s.chat.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// everyWay has a test run with the ways for clear text and for TLS.
func everyWay(t *testing.T, o setup, test func(*testing.T, *server)) {
	ways := []serve.Way{serve.Goroutine, serve.Pool}
	if runtime.GOOS == "linux" {
		ways = append(ways, serve.Loop, serve.Coroutine)
	}
	for i, way := range ways {
		t.Run(way.String(), func(t *testing.T) {
			o.way, o.tlsWay = way, ways[i%2]
			test(t, start(t, o))
		})
	}
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// account makes an account, opened by certificates too.
func (s *server) account(name, password string, fingerprints ...string) {
	s.t.Helper()
	store, err := account.Open(s.dir, account.Options{Iterations: 4096})
	if err != nil {
		s.t.Fatal(err)
	}
	defer store.Close()
	if _, err := store.Add(name, password, account.Member, false); err != nil {
		s.t.Fatal(err)
	}
	for _, f := range fingerprints {
		if err := store.AddCert(name, f); err != nil {
			s.t.Fatal(err)
		}
	}
}

// client is one end of a conversation.
type client struct {
	t    *testing.T
	conn net.Conn
	r    *bufio.Reader
}

func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	c.SetDeadline(time.Now().Add(waitLimit))
	t.Cleanup(func() { c.Close() })
	return c
}

func talk(t *testing.T, c net.Conn) *client { return &client{t, c, bufio.NewReader(c)} }

// clear is a client in clear text.
func (s *server) clear(t *testing.T) *client { return talk(t, dial(t, s.plain)) }

// config is a client's, which knows the authority.
func (s *server) config(certificates ...tls.Certificate) *tls.Config {
	return &tls.Config{RootCAs: s.authority.Pool, ServerName: "weir.test", Certificates: certificates}
}

// secure is a client by TLS, behind what is sent before.
func (s *server) secure(t *testing.T, before string, certificates ...tls.Certificate) *client {
	t.Helper()
	raw := dial(t, s.tls)
	if _, err := raw.Write([]byte(before)); err != nil {
		t.Fatal(err)
	}
	c := tls.Client(raw, s.config(certificates...))
	if err := c.Handshake(); err != nil {
		t.Fatal(err)
	}
	return talk(t, c)
}

func (c *client) send(lines ...string) {
	c.t.Helper()
	if _, err := c.conn.Write([]byte(strings.Join(lines, "\r\n") + "\r\n")); err != nil {
		c.t.Fatal(err)
	}
}

// until reads up to a line that holds a text.
func (c *client) until(text string) string {
	c.t.Helper()
	for {
		line, err := c.r.ReadString('\n')
		if err != nil {
			c.t.Fatalf("want a line with %q: %v", text, err)
		}
		if strings.Contains(line, text) {
			return line
		}
	}
}

// ended wants the connection to end, and nothing to come before.
func (c *client) ended() {
	c.t.Helper()
	if line, err := c.r.ReadString('\n'); err == nil {
		c.t.Errorf("got %q, want the end of the connection", line)
	} else if e, ok := err.(net.Error); ok && e.Timeout() {
		c.t.Error("the connection is open, want it closed")
	}
}

// register comes in.
func (c *client) register(nick string) {
	c.t.Helper()
	c.send("NICK "+nick, "USER u 0 * :U")
	c.until(" 221 " + nick)
}

// wait waits until something is so.
func wait(t *testing.T, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(waitLimit); !so(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited for %v, want: %s", waitLimit, what)
		}
	}
}
