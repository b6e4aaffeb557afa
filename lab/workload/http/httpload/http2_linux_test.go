package httpload

import (
	"bytes"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"weir/lab/internal/oneloop"
	"weir/lab/load"
)

// clearHTTP2 starts a server of HTTP/2 with prior knowledge, and returns a Config for it.
func clearHTTP2(t *testing.T, h nethttp.HandlerFunc) Config {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.Protocols = &nethttp.Protocols{}
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	t.Cleanup(s.Close)
	c := lenient(s.URL + "/")
	c.HTTP2 = true
	return c
}

// secureHTTP2 is clearHTTP2 over TLS.
func secureHTTP2(t *testing.T, h nethttp.HandlerFunc) Config {
	t.Helper()
	c := secureServer(t, func(s *httptest.Server) { s.EnableHTTP2 = true }, h)
	c.HTTP2 = true
	return c
}

func TestAMixIsSentByHTTP2AsDescribed(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"closed loop":             func(c *Config) { c.Requests = 100 },
		"closed loop, streams":    func(c *Config) { c.Requests, c.Streams = 100, 20 },
		"open loop":               func(c *Config) { c.Rate, c.Duration = 1000, 100*time.Millisecond },
		"open loop, streams":      func(c *Config) { c.Rate, c.Duration, c.Streams = 1000, 100*time.Millisecond, 30 },
		"open loop, Poisson, one": func(c *Config) { c.Rate, c.Duration, c.Streams, c.Connections = 1000, 100*time.Millisecond, 30, 1 },
	} {
		for kind, serve := range map[string]func(*testing.T, nethttp.HandlerFunc) Config{"prior knowledge": clearHTTP2, "TLS": secureHTTP2} {
			t.Run(kind+", "+name, func(t *testing.T) {
				var others atomic.Int64
				s := &seen{}
				c := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
					if r.ProtoMajor != 2 {
						others.Add(1)
					}
					s.handle(w, r)
				})
				c.Mix, c.Expect = mixOfAll(), nil
				change(&c)
				r := mustRun(t, c)
				checkAnswered(t, r, 100)
				checkSeen(t, s, 100)
				if others.Load() != 0 || r.Opened != int64(c.Connections) || r.Streams != max(c.Streams, 1) || r.LatencyUS.P50 <= 0 {
					t.Errorf("got %d requests of other protocols, %d connections, %d streams, P50 %v us; want 0, %d, %d and more than 0", others.Load(), r.Opened, r.Streams, r.LatencyUS.P50, c.Connections, max(c.Streams, 1))
				}
			})
		}
	}
}

func TestEachCheckSeesItsFaultByHTTP2(t *testing.T) {
	c := clearHTTP2(t, answers(200, checked))
	c.Connections, c.Requests, c.Streams, c.Expect = 1, 10, 3, nil
	for _, test := range checkTests {
		t.Run(test.name, func(t *testing.T) {
			c := c
			c.Mix, c.Gzip = []Request{test.request}, len(test.name)%2 == 0
			checkKind(t, c, test.kind, 10)
		})
	}
}

// TestLargeBodiesPassTheWindows checks bodies beyond the server's windows, and beyond half of those
// of the client.
func TestLargeBodiesPassTheWindows(t *testing.T) {
	large := strings.Repeat("0123456789abcdef", 250_000)
	for kind, serve := range map[string]func(*testing.T, nethttp.HandlerFunc) Config{"prior knowledge": clearHTTP2, "TLS": secureHTTP2} {
		t.Run(kind, func(t *testing.T) {
			c := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) { io.Copy(w, r.Body) }) //nolint:errcheck // the client sees it
			c.Connections, c.Streams, c.Requests, c.Expect = 2, 4, 20, nil
			c.Mix = []Request{{Method: "POST", Body: large, Check: Check{Body: &large}}}
			checkAnswered(t, mustRun(t, c), 20)
		})
	}
}

func TestAServerWithoutHTTP2IsAnError(t *testing.T) {
	overTLS := secureServer(t, func(*httptest.Server) {}, answers(200, page))
	plain := lenient(web(t))
	for name, test := range map[string]struct {
		c    Config
		want string
	}{
		"TLS":                {overTLS, "leave out --http2"},
		"TLS, learned":       {Config{URL: overTLS.URL, Connections: 1, TLS: overTLS.TLS}, "leave out --http2"},
		"plain":              {plain, "does not speak HTTP/2 here"},
		"plain, learned":     {Config{URL: plain.URL, Connections: 1}, ""},
		"too few streams":    {withStreams(clearHTTP2(t, answers(200, page)), 1000), "give at most that by --streams"},
		"nothing but silent": {Config{URL: rawServer(t, func(c net.Conn) { io.Copy(io.Discard, c) }), Connections: 1, Timeout: 100 * time.Millisecond, Expect: []byte("x")}, "no HTTP/2 connection within"}, //nolint:errcheck // until the client closes
	} {
		t.Run(name, func(t *testing.T) {
			c := test.c
			c.HTTP2, c.Requests = true, 10
			r, err := Run(t.Context(), c, load.Events{})
			text := fmt.Sprint(err, r.Details)
			if err == nil || !strings.Contains(text, test.want) {
				t.Errorf("got error %v, details %q; want %q", err, r.Details, test.want)
			}
		})
	}
}

func withStreams(c Config, n int) Config { c.Streams = n; return c }

// frames is the server's end of a connection of HTTP/2 that a test plays.
type frames struct {
	*http2.Framer
	net.Conn
	encoder *hpack.Encoder
	block   bytes.Buffer
	count   int // requests so far
}

// playsHTTP2 returns a handler that accepts a connection, and answers each request by answer.
func playsHTTP2(answer func(f *frames, id uint32)) func(net.Conn) {
	return func(c net.Conn) {
		preface := make([]byte, len(http2.ClientPreface))
		if _, err := io.ReadFull(c, preface); err != nil || string(preface) != http2.ClientPreface {
			return
		}
		f := &frames{Framer: http2.NewFramer(c, c), Conn: c}
		f.encoder = hpack.NewEncoder(&f.block)
		f.WriteSettings() //nolint:errcheck // the client sees it
		for {
			frame, err := f.ReadFrame()
			if err != nil {
				return
			}
			if head, ok := frame.(*http2.HeadersFrame); ok {
				f.count++
				answer(f, head.StreamID)
			}
		}
	}
}

// head sends fields, given as names and values.
func (f *frames) head(id uint32, ends bool, pairs ...string) {
	f.block.Reset()
	for i := 0; i < len(pairs); i += 2 {
		f.encoder.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]}) //nolint:errcheck // into memory
	}
	f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: f.block.Bytes(), EndStream: ends, EndHeaders: true}) //nolint:errcheck // the client sees it
}

// right answers with body.
func (f *frames) right(id uint32) {
	f.head(id, false, ":status", "200", "content-length", "4")
	f.WriteData(id, true, []byte("body")) //nolint:errcheck // the client sees it
}

func TestEveryMisbehaviourOfHTTP2HasItsKind(t *testing.T) {
	for _, test := range []struct {
		name   string
		answer func(f *frames, id uint32)
		want   string
	}{
		{"right", (*frames).right, ""},
		{"right with padding", func(f *frames, id uint32) {
			f.head(id, false, ":status", "200")
			f.WriteDataPadded(id, false, []byte("bo"), make([]byte, 99))
			f.WriteData(id, true, []byte("dy"))
		}, ""},
		{"right with trailers", func(f *frames, id uint32) {
			f.head(id, false, ":status", "200")
			f.WriteData(id, false, []byte("body"))
			f.head(id, true, "x-sum", "1")
		}, ""},
		{"right after 103", func(f *frames, id uint32) { f.head(id, false, ":status", "103"); f.right(id) }, ""},
		{"right after ping and settings", func(f *frames, id uint32) {
			f.WritePing(false, [8]byte{1})
			f.WriteSettings(http2.Setting{ID: http2.SettingHeaderTableSize, Val: 0})
			f.right(id)
		}, ""},
		{"right in continuations", func(f *frames, id uint32) {
			f.block.Reset()
			f.encoder.WriteField(hpack.HeaderField{Name: ":status", Value: "200"})
			f.WriteHeaders(http2.HeadersFrameParam{StreamID: id})
			f.WriteContinuation(id, true, f.block.Bytes())
			f.WriteData(id, true, []byte("body"))
		}, ""},
		{"wrong body", func(f *frames, id uint32) {
			f.head(id, false, ":status", "200")
			f.WriteData(id, true, []byte("bodx"))
		}, kindBody},
		{"wrong status", func(f *frames, id uint32) { f.head(id, true, ":status", "500") }, kindStatus},
		{"RST_STREAM", func(f *frames, id uint32) { f.WriteRSTStream(id, http2.ErrCodeRefusedStream) }, kindStream},
		{"RST_STREAM in mid-body", func(f *frames, id uint32) {
			f.head(id, false, ":status", "200")
			f.WriteData(id, false, []byte("bo"))
			f.WriteRSTStream(id, http2.ErrCodeInternal)
		}, kindStream},
		{"GOAWAY", func(f *frames, id uint32) { f.WriteGoAway(0, http2.ErrCodeEnhanceYourCalm, nil) }, kindGoAway},
		{"short body", func(f *frames, id uint32) { f.head(id, true, ":status", "200", "content-length", "4") }, kindProtocol},
		{"long body", func(f *frames, id uint32) {
			f.head(id, false, ":status", "200", "content-length", "3")
			f.WriteData(id, true, []byte("body"))
		}, kindProtocol},
		{"no status", func(f *frames, id uint32) { f.head(id, true, "x", "y") }, kindProtocol},
		{"two statuses", func(f *frames, id uint32) { f.head(id, true, ":status", "200", ":status", "200") }, kindProtocol},
		{"status after a field", func(f *frames, id uint32) { f.head(id, true, "x", "y", ":status", "200") }, kindProtocol},
		{"connection field", func(f *frames, id uint32) { f.head(id, true, ":status", "200", "connection", "close") }, kindProtocol},
		{"upper-case field", func(f *frames, id uint32) { f.head(id, true, ":status", "200", "X", "y") }, kindProtocol},
		{"body before its head", func(f *frames, id uint32) { f.WriteData(id, true, []byte("body")) }, kindProtocol},
		{"frame of no stream", func(f *frames, id uint32) { f.WriteData(id+100, true, []byte("body")) }, kindProtocol},
		{"push", func(f *frames, id uint32) {
			f.WritePushPromise(http2.PushPromiseParam{StreamID: id, PromiseID: 2, EndHeaders: true})
		}, kindProtocol},
		{"window overflow", func(f *frames, id uint32) { f.WriteWindowUpdate(0, 1<<31-1) }, kindProtocol},
		{"large frame", func(f *frames, id uint32) { f.WriteData(id, true, make([]byte, 20_000)) }, kindProtocol},
		{"invalid HPACK", func(f *frames, id uint32) {
			f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: []byte{0xff, 0xff, 0xff, 0xff}, EndHeaders: true})
		}, kindProtocol},
		{"no answer", func(*frames, uint32) {}, oneloop.KindTimeout},
		{"close", func(f *frames, _ uint32) { f.Close() }, oneloop.KindClosed},
	} { //nolint:errcheck // the client sees what is sent
		t.Run(test.name, func(t *testing.T) {
			url := rawServer(t, playsHTTP2(test.answer))
			c := Config{URL: url, Connections: 2, Streams: 1, HTTP2: true, Requests: 12, Expect: []byte("body")}
			t.Run("closed loop", func(t *testing.T) { checkKind(t, c, test.want, 12) })
			c.Rate, c.Requests, c.Duration = 400, 0, 30*time.Millisecond
			t.Run("open loop", func(t *testing.T) { checkKind(t, c, test.want, 12) })
		})
	}
}

// TestConnectionsThatGoAwayAreReplaced checks a server that sends GOAWAY with every fifth answer,
// as nginx does after keepalive_requests: what it accepted is answered, and the rest by a new
// connection.
func TestConnectionsThatGoAwayAreReplaced(t *testing.T) {
	url := rawServer(t, playsHTTP2(func(f *frames, id uint32) {
		if f.count == 5 {
			f.WriteGoAway(id, http2.ErrCodeNo, nil) //nolint:errcheck // the client sees it
		}
		if f.count <= 5 {
			f.right(id)
		}
	}))
	r := mustRun(t, Config{URL: url, Connections: 2, HTTP2: true, Requests: 100, Timeout: time.Minute, Expect: []byte("body")})
	if r.Messages != 100 || len(r.Errors) != 0 || r.Opened < 20 {
		t.Errorf("got %d answers on %d connections, errors %v %q; want 100 on at least 20, and none", r.Messages, r.Opened, r.Errors, r.Details)
	}
	r = mustRun(t, Config{URL: url, Connections: 1, Streams: 10, HTTP2: true, Requests: 100, Timeout: time.Minute, Expect: []byte("body")})
	if r.Messages+r.Errors[kindGoAway] != 100 || len(r.Errors) > 1 || r.Errors[kindGoAway] == 0 {
		t.Errorf("10 streams: got %d answers, errors %v %q; want 100 together, some of kind goaway", r.Messages, r.Errors, r.Details)
	}
}

func TestSettingsOfHTTP2AreChecked(t *testing.T) {
	good := Config{URL: "http://a/", Connections: 1000, Requests: 1, HTTP2: true, Streams: 100}
	for want, change := range map[string]func(*Config){
		"":                                       func(*Config) {},
		"give --http2 with --streams":            func(c *Config) { c.HTTP2 = false },
		"leave out --http2 or --no-keep-alive":   func(c *Config) { c.Close = true },
		"101 streams on each of 1000":            func(c *Config) { c.Streams = 101 },
		"-1 streams on each":                     func(c *Config) { c.Streams = -1 },
		"9223372036854775807 streams on each of": func(c *Config) { c.Streams = 1<<63 - 1 },
	} {
		c := good
		change(&c)
		if err := c.Check(false); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
