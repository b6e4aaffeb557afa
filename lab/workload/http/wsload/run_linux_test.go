package wsload

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"weir/internal/freeport"
	"weir/lab/internal/oneloop"
	"weir/lab/load"
)

// lenient returns a Config with a timeout that no machine exceeds.
func lenient(url string) Config {
	return Config{URL: url, Connections: 4, Size: 100, Echo: true, Duration: 200 * time.Millisecond, Timeout: time.Minute}
}

func mustRun(t *testing.T, c Config) Report {
	t.Helper()
	r, err := Run(t.Context(), c, load.Events{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestEveryMessageIsEchoed checks both loops with an independent server, and that connections are
// closed as RFC 6455 requires.
func TestEveryMessageIsEchoed(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"binary":        func(*Config) {},
		"text":          func(c *Config) { c.Text = true },
		"empty":         func(c *Config) { c.Size = 0 },
		"125 bytes":     func(c *Config) { c.Size = 125 },
		"126 bytes":     func(c *Config) { c.Size = 126 },
		"70,000 bytes":  func(c *Config) { c.Size = 70_000 },
		"largest":       func(c *Config) { c.Size, c.Rate, c.Connections = MaxSize, 20, 2 },
		"many at once":  func(c *Config) { c.Connections = 300 },
		"Poisson":       func(c *Config) { c.Pattern = load.Poisson },
		"all at once":   func(c *Config) { c.Pattern = load.Together },
		"one, outpaced": func(c *Config) { c.Connections, c.Rate = 1, 5000 },
	} {
		for _, isOpen := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, open loop %v", name, isOpen), func(t *testing.T) {
				s := echoes(t, nil)
				c := lenient(s.url)
				c.Rate = 500
				if change(&c); !isOpen {
					c.Rate, c.Pattern = 0, ""
				}
				r := mustRun(t, c)
				if len(r.Errors) != 0 || r.Failed != 0 || r.Unfinished != 0 || r.Unclosed != 0 || r.WindowNS != 200e6 || s.messages.Load() == 0 {
					t.Errorf("got %+v, want answered messages without an error", r)
				}
				if want := int64(c.Rate / 5); isOpen && c.Pattern != load.Poisson && (r.Offered != want || r.Answered != want) {
					t.Errorf("got %d offered and %d answered, want %d of both", r.Offered, r.Answered, want)
				}
				if r.Answered > 0 && r.LatencyUS.P50 <= 0 || r.UpgradeUS.Max <= 0 || r.Received < r.Messages || r.Bytes != r.Messages*int64(c.Size) {
					t.Errorf("got impossible figures: %+v", r)
				}
				if texts := map[bool]int64{true: s.messages.Load()}[c.Text]; s.texts.Load() != texts || s.closed.Load() != int64(c.Connections) {
					t.Errorf("the server received %d messages as text and %d Close frames, want %d and %d", s.texts.Load(), s.closed.Load(), texts, c.Connections)
				}
			})
		}
	}
}

func TestTheUpgradeHasItsPathAndFields(t *testing.T) {
	var right atomic.Int64
	s := echoes(t, func(r *http.Request, _ *websocket.Conn) {
		if r.Host == "other" && r.URL.String() == "/echo?a=b" && r.Header.Get("X-Test") == "1" {
			right.Add(1)
		}
	})
	c := lenient(s.url)
	c.Headers = []string{"X-Test: 1", "Host: other"}
	if mustRun(t, c); right.Load() != 4 {
		t.Errorf("got %d upgrades with the path and the fields, want 4", right.Load())
	}
}

// TestMessagesAreCountedWithoutEchoes checks a server that sends by itself.
func TestMessagesAreCountedWithoutEchoes(t *testing.T) {
	const n = 20
	s := echoes(t, func(r *http.Request, c *websocket.Conn) {
		go func() {
			for range n {
				c.Write(r.Context(), websocket.MessageText, []byte("news")) //nolint:errcheck // the client sees it
				time.Sleep(10 * time.Millisecond)
			}
		}()
	})
	c := lenient(s.url)
	c.Echo, c.Duration = false, 400*time.Millisecond
	r := mustRun(t, c)
	if len(r.Errors) != 0 || r.Sent != 0 || r.Received == 0 || r.Received > 4*n || r.Messages != r.Received || r.Bytes != 4*r.Received || r.ReceivedBytes != 4*r.Received {
		t.Errorf("nothing sent: got %+v, want up to %d received messages of 4 bytes", r, 4*n)
	}
	c.Rate = 500
	r = mustRun(t, c)
	if len(r.Errors) != 0 || r.Sent != 200 || r.Offered != 200 || r.Answered != 200 || r.Received <= 200 {
		t.Errorf("500 a second: got %+v, want 200 sent, and their echoes and news received", r)
	}
}

func TestEveryMisbehaviourHasItsKind(t *testing.T) {
	for _, test := range []struct {
		name   string
		handle func(*peer)
		want   string // empty: no error
	}{
		{"right", each(func(p *peer, s string) { p.write(0x82, s) }), ""},
		{"right in fragments, with a ping", each(func(p *peer, s string) {
			p.write(0x02, s[:3])
			p.write(0x89, "ping")
			p.write(0x00, "")
			if op, payload, err := p.read(); err != nil || op != 10 || string(payload) != "ping" {
				p.write(0x82, "no pong")
			}
			p.write(0x80, s[3:])
		}), ""},
		{"right, with a pong", each(func(p *peer, s string) { p.write(0x8a, "x"); p.write(0x82, s) }), ""},
		{"wrong content", each(func(p *peer, s string) { p.write(0x82, s[:9]+"\x00") }), kindEcho},
		{"too short", each(func(p *peer, s string) { p.write(0x82, s[:9]) }), kindEcho},
		{"too long", each(func(p *peer, s string) { p.write(0x82, s+"x") }), kindEcho},
		{"wrong type", each(func(p *peer, s string) { p.write(0x81, s) }), kindEcho},
		{"no echo", each(func(*peer, string) {}), oneloop.KindTimeout},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, rate := range []float64{400, 0} {
				c := lenient(plays(t, upgraded, test.handle))
				c.Rate, c.Size, c.Duration = rate, 10, 30*time.Millisecond
				if test.want == oneloop.KindTimeout {
					c.Timeout = 50 * time.Millisecond
				}
				r := mustRun(t, c)
				if rate > 0 && r.Offered != 12 || r.Unfinished != 0 || r.Unclosed != 0 {
					t.Errorf("rate %v: got %+v, want 12 offered, and every connection closed", rate, r)
				}
				if test.want == "" && (len(r.Errors) != 0 || rate > 0 && r.Answered != 12) {
					t.Errorf("rate %v: got %d answers, errors %v %q; want no error", rate, r.Answered, r.Errors, r.Details)
				}
				if test.want != "" && (len(r.Errors) != 1 || r.Errors[test.want] == 0 || rate > 0 && (r.Failed != 12 || r.Errors[test.want] != 12)) {
					t.Errorf("rate %v: got %d failed, errors %v %q; want all of kind %s", rate, r.Failed, r.Errors, r.Details, test.want)
				}
			}
		})
	}
}

// TestALostConnectionFailsItsMessages checks servers that end every connection with its second
// message: the first loses the connection, and the later ones are due on one that is lost.
func TestALostConnectionFailsItsMessages(t *testing.T) {
	for name, test := range map[string]struct {
		end  func(p *peer)
		want string
	}{
		"Close":                   {func(p *peer) { p.write(0x88, "\x03\xf3oops"); p.read() }, kindClose}, //nolint:errcheck // it waits for the answer
		"close without a frame":   {func(p *peer) { p.Close() }, oneloop.KindClosed},
		"reserved bits":           {func(p *peer) { p.write(0xc2, "x"); p.read() }, kindProtocol},                         //nolint:errcheck // it waits for the close
		"masked":                  {func(p *peer) { p.Write([]byte{0x82, 0x81, 1, 2, 3, 4, 5}); p.read() }, kindProtocol}, //nolint:errcheck // it waits for the close
		"a message without cause": {func(p *peer) { p.write(0x82, "x"); p.write(0x82, "y"); p.read() }, kindEcho},         //nolint:errcheck // it waits for the close
	} {
		t.Run(name, func(t *testing.T) {
			url := plays(t, upgraded, func(p *peer) {
				if _, first, err := p.read(); err == nil {
					p.write(0x82, string(first))
				}
				if _, _, err := p.read(); err == nil {
					test.end(p)
				}
			})
			c := lenient(url)
			c.Rate, c.Size, c.Duration = 400, 10, 5*time.Second
			r, err := Run(t.Context(), c, load.Events{})
			if !errors.Is(err, oneloop.ErrAllLost) || !strings.Contains(err.Error(), test.want) || r.Errors[test.want] == 0 {
				t.Errorf("got error %v, %+v; want that all connections were lost by %s", err, r, test.want)
			}
		})
	}
}

func TestAServerThatDoesNotUpgradeIsAnError(t *testing.T) {
	for answer, want := range map[string]string{
		"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n":                                                "the status 404 and not 101",
		strings.Replace(upgraded, "ACCEPT", "x", 1):                                                          "is not that of the key",
		strings.Replace(upgraded, "WebSocket", "h2c", 1):                                                     "switches to another protocol",
		strings.Replace(upgraded, ", upgrade", "", 1):                                                        "switches to another protocol",
		strings.Replace(upgraded, "\r\n\r\n", "\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n", 1): "an extension that was not offered",
		"220 mail.example.org\r\n\r\n":                                                                       "is not HTTP",
		"HTTP/1.1 101 Switching Protocols\r\nX: " + strings.Repeat("x", maxHead):                             "has more than 16384 bytes",
		"": "without a Close frame",
	} {
		r, err := Run(t.Context(), lenient(plays(t, answer, func(p *peer) {
			if answer != "" {
				p.read() //nolint:errcheck // it waits for the close
			}
		})), load.Events{})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "does not speak WebSocket here") {
			t.Errorf("%.60q: got error %v, %q; want %q", answer, err, r.Details, want)
		}
	}
	addr, err := freeport.Address("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), lenient("ws://"+addr+"/"), load.Events{}); err == nil || !strings.Contains(err.Error(), "nothing listens there") {
		t.Errorf("got error %v, want that nothing listens", err)
	}
}

func TestAServerThatDoesNotCloseIsCounted(t *testing.T) {
	c := lenient(plays(t, upgraded, func(p *peer) {
		for {
			op, payload, err := p.read()
			if err != nil {
				return
			}
			if op != 8 {
				p.write(0x82, string(payload))
			}
		}
	}))
	c.Rate, c.Size = 100, 10
	if r := mustRun(t, c); r.Unclosed != 4 || len(r.Errors) != 0 {
		t.Errorf("got %+v, want 4 connections that were not closed and no error", r)
	}
}

// TestSlowReadersDelayMessages checks that messages which find their connection full are sent late
// and not left out.
func TestSlowReadersDelayMessages(t *testing.T) {
	s := echoes(t, func(*http.Request, *websocket.Conn) { time.Sleep(200 * time.Millisecond) })
	c := lenient(s.url)
	c.Connections, c.Rate, c.Size = 1, 500, 100_000
	if r := mustRun(t, c); r.Offered != 100 || r.Answered != 100 || len(r.Errors) != 0 || r.Behind == 0 {
		t.Errorf("got %+v, want 100 answers, some of them behind", r)
	}
}

func TestAnInterruptEndsARun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := lenient(echoes(t, nil).url)
	c.Duration = time.Hour
	r, err := Run(ctx, c, load.Events{Every: time.Millisecond, Progress: func(p load.Progress) {
		if p.Sent > 20 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) || r.Messages < 20 || !r.Interrupt {
		t.Errorf("got error %v and %+v, want an interrupted run of 20 or more", err, r)
	}
}

func TestMessagesAreEchoedOverTLS(t *testing.T) {
	s := startEchoes(t, nil, (*httptest.Server).StartTLS)
	for name, change := range map[string]func(*Config){
		"closed loop":     func(*Config) {},
		"open loop":       func(c *Config) { c.Rate = 500 },
		"70,000 bytes":    func(c *Config) { c.Rate, c.Size = 50, 70_000 },
		"largest":         func(c *Config) { c.Rate, c.Size = 20, MaxSize },
		"any certificate": func(c *Config) { c.TLS = TLS{Insecure: true} },
	} {
		t.Run(name, func(t *testing.T) {
			c := lenient(s.url)
			c.TLS.CA = s.ca
			change(&c)
			before := s.closed.Load()
			r := mustRun(t, c)
			if len(r.Errors) != 0 || r.Failed != 0 || r.Unfinished != 0 || r.Unclosed != 0 || s.messages.Load() == 0 || c.Rate > 0 && r.Answered != int64(c.Rate/5) {
				t.Errorf("got %+v, want %v answers and no error", r, c.Rate/5)
			}
			if r.TLS == nil || r.TLS.Version != "TLS 1.3" || r.TLS.Handshakes != 4 || r.TLS.Verified == c.TLS.Insecure || r.TLS.HandshakeUS.Max <= 0 {
				t.Errorf("got the TLS parameters %+v, want TLS 1.3 and 4 handshakes", r.TLS)
			}
			if s.closed.Load() != before+4 {
				t.Errorf("the server received %d Close frames, want 4", s.closed.Load()-before)
			}
		})
	}
}

func TestAFailedHandshakeIsAnError(t *testing.T) {
	s := startEchoes(t, nil, (*httptest.Server).StartTLS)
	plain := echoes(t, nil)
	for want, c := range map[string]Config{
		"certificate is not trusted":            lenient(s.url),
		"does not speak TLS on this port":       lenient("wss" + strings.TrimPrefix(plain.url, "ws")),
		"certificate is not for \"other.test\"": {URL: s.url, Connections: 1, Echo: true, Duration: time.Second, TLS: TLS{CA: s.ca, ServerName: "other.test"}},
	} {
		if _, err := Run(t.Context(), c, load.Events{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %q", err, want)
		}
	}
}
