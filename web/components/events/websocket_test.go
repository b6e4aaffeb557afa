package events

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"weir/flow"
	"weir/web"
	"weir/web/internal/conn"
	"weir/web/internal/webtest"
)

func echo() (web.Component, error) { return Echo(WebSocketConfig{MaxMessage: "1KB"}) }

func TestEchoReturnsEachMessage(t *testing.T) {
	bothWays(t, echo, func(t *testing.T, url string, c io.Closer, end <-chan webtest.ExchangeEnd) {
		conn, resp, err := dial(t, url)
		if err != nil {
			t.Fatal(err)
		}
		if resp.Header.Get("X-Before") != "kept" {
			t.Errorf("got %v, want the fields of earlier components", resp.Header)
		}
		ctx := within(t)
		for _, want := range []string{"hello", "", strings.Repeat("é", 512)} {
			if err := conn.Write(ctx, websocket.MessageText, []byte(want)); err != nil {
				t.Fatal(err)
			}
			if kind, got, err := conn.Read(ctx); err != nil || string(got) != want || kind != websocket.MessageText {
				t.Fatalf("got a message of %d bytes, type %v (%v), want the %d bytes sent, as text", len(got), kind, err, len(want))
			}
		}
		if n := c.(*WebSockets).Open(); n != 1 {
			t.Errorf("while connected: got %d open, want 1", n)
		}
		if err := conn.Close(websocket.StatusNormalClosure, ""); err != nil {
			t.Errorf("the closing handshake: got %v, want nil", err)
		}
		if e := <-end; e.Status != 101 || e.Err != nil {
			t.Errorf("the exchange ended with %+v, want 101 and no error", e)
		}
		if n := c.(*WebSockets).Open(); n != 0 {
			t.Errorf("after the close: got %d open, want 0", n)
		}
	}, zip)
}

func TestAMessageThatIsTooLarge(t *testing.T) {
	bothWays(t, echo, func(t *testing.T, url string, _ io.Closer, end <-chan webtest.ExchangeEnd) {
		conn, _, err := dial(t, url)
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.Write(within(t), websocket.MessageBinary, make([]byte, 1025))
		if _, _, err := conn.Read(within(t)); websocket.CloseStatus(err) != websocket.StatusMessageTooBig {
			t.Errorf("got %v, want status 1009", err)
		}
		<-end
	})
}

func TestOnlyAllowedOriginsConnect(t *testing.T) {
	component := func() (web.Component, error) {
		return Echo(WebSocketConfig{Origins: []string{"*.example.org", "https://other.example"}, Protocols: []string{"a"}})
	}
	bothWays(t, component, func(t *testing.T, url string, _ io.Closer, end <-chan webtest.ExchangeEnd) {
		for origin, ok := range map[string]bool{
			"": true, url: true, "http://www.example.org": true, "https://other.example": true,
			"http://other.example": false, "http://example.com": false, "null": false,
		} {
			var fields []string
			if origin != "" {
				fields = []string{"Origin", origin}
			}
			conn, resp, err := dial(t, url, fields...)
			switch {
			case ok && (err != nil || conn.Subprotocol() != "a"):
				t.Errorf("origin %q: got %v, want a connection with subprotocol a", origin, err)
			case !ok && (err == nil || resp.StatusCode != 403):
				t.Errorf("origin %q: %v, %v, want 403", origin, resp, err)
			}
			if ok {
				_ = conn.Close(websocket.StatusNormalClosure, "")
			}
			if e := <-end; ok != (e.Err == nil) {
				t.Errorf("origin %q: the exchange ended with %+v, want an error exactly if it is not allowed", origin, e)
			}
		}
		resp, err := webtest.Client(t).Get(url)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if e := <-end; resp.StatusCode != 426 || e.Status != 426 {
			t.Errorf("no WebSocket: %d, want 426", resp.StatusCode)
		}
	})
}

func TestConnectionBeyondMaxOpenGets503(t *testing.T) {
	component := func() (web.Component, error) { return Echo(WebSocketConfig{MaxOpen: 1}) }
	bothWays(t, component, func(t *testing.T, url string, c io.Closer, end <-chan webtest.ExchangeEnd) {
		first, _, err := dial(t, url)
		if err != nil {
			t.Fatal(err)
		}
		if _, resp, err := dial(t, url); err == nil || resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" {
			t.Errorf("got %v, want 503", resp)
		}
		<-end
		_ = first.Close(websocket.StatusNormalClosure, "")
		<-end
		third, _, err := dial(t, url)
		if err != nil {
			t.Fatalf("after the first connection ended: got %v, want another connection", err)
		}
		_ = third.Close(websocket.StatusNormalClosure, "")
	})
}

func TestErrorOfTheFunctionDecidesTheCloseStatus(t *testing.T) {
	for want, err := range map[websocket.StatusCode]error{websocket.StatusNormalClosure: nil, websocket.StatusInternalError: errors.New("secret")} {
		component := func() (web.Component, error) {
			return WebSocket(WebSocketConfig{}, func(context.Context, *websocket.Conn) error { return err })
		}
		bothWays(t, component, func(t *testing.T, url string, _ io.Closer, end <-chan webtest.ExchangeEnd) {
			conn, _, dialled := dial(t, url)
			if dialled != nil {
				t.Fatalf("dialling: got %v, want a connection", dialled)
			}
			_, _, got := conn.Read(within(t))
			if websocket.CloseStatus(got) != want || strings.Contains(got.Error(), "secret") {
				t.Errorf("got %v, want status %d", got, want)
			}
			if e := <-end; !errors.Is(e.Err, err) {
				t.Errorf("got %v, want %v", e.Err, err)
			}
		})
	}
}

func TestCloseSendsStatus1001(t *testing.T) {
	bothWays(t, echo, func(t *testing.T, url string, c io.Closer, end <-chan webtest.ExchangeEnd) {
		conn, _, err := dial(t, url)
		if err != nil {
			t.Fatal(err)
		}
		read := make(chan error, 1)
		go func() { _, _, err := conn.Read(within(t)); read <- err }()
		if err := c.Close(); err != nil {
			t.Errorf("Close: got %v, want nil", err)
		}
		if err := <-read; websocket.CloseStatus(err) != websocket.StatusGoingAway {
			t.Errorf("got %v, want status 1001", err)
		}
		if e := <-end; e.Err != nil {
			t.Errorf("the exchange ended with %+v, want no error", e)
		}
		if _, resp, err := dial(t, url); err == nil || resp.StatusCode != 503 {
			t.Errorf("after Close: %v, want 503", resp)
		}
	})
}

// The end of the server's context for requests is one too, and a server of web/server says so
// before.
func TestStoppingServerEndsEventConnections(t *testing.T) {
	for _, way := range []flow.Way{flow.Chain, flow.Network} {
		sockets, err := echo()
		if err != nil {
			t.Fatal(err)
		}
		streams, err := waiting()
		if err != nil {
			t.Fatal(err)
		}
		h, err := web.New(web.Branch("which", func(c *web.Conn) int { return len(c.Path()) - 1 }, sockets, streams), web.Options{Way: way})
		if err != nil {
			t.Fatal(err)
		}
		stops := make(chan struct{})
		base, stop := context.WithCancel(conn.WithStopping(t.Context(), stops))
		s := httptest.NewUnstartedServer(h)
		s.Config.BaseContext = func(net.Listener) context.Context { return base }
		s.Start()

		resp, err := webtest.Client(t).Get(s.URL + "/1")
		if err != nil {
			t.Fatal(err)
		}
		close(stops)
		if _, err := io.ReadAll(resp.Body); err != nil {
			t.Errorf("got %v, want a clean end of the stream", err)
		}
		resp.Body.Close()
		c, _, err := dial(t, s.URL)
		if err != nil {
			t.Fatal(err)
		}
		stop()
		if _, _, err := c.Read(within(t)); websocket.CloseStatus(err) != websocket.StatusGoingAway {
			t.Errorf("got %v, want status 1001", err)
		}
		webtest.Until(t, "no client is connected", func() bool { return sockets.(*WebSockets).Open()+streams.(*Streams).Open() == 0 })
		s.Close()
		h.Close()
		_, _ = sockets.(*WebSockets).Close(), streams.(*Streams).Close()
	}
}

// A client that is there answers pings by reading; one that has gone silently does not.
func TestPings(t *testing.T) {
	component := func() (web.Component, error) { return Echo(WebSocketConfig{Ping: "20ms"}) }
	bothWays(t, component, func(t *testing.T, url string, c io.Closer, end <-chan webtest.ExchangeEnd) {
		silent, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer silent.Close()
		_ = silent.SetDeadline(time.Now().Add(webtest.WaitTimeout))
		_, _ = io.WriteString(silent, "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n")
		sent, err := io.ReadAll(silent) // it ends because no answer came
		if err != nil || !strings.HasPrefix(string(sent), "HTTP/1.1 101 ") || !strings.Contains(string(sent), "\r\n\r\n\x89") {
			t.Errorf("got %q, %v, want a ping and the end", sent, err)
		}
		<-end
	})
	component = func() (web.Component, error) { return Echo(WebSocketConfig{Ping: "1s"}) }
	bothWays(t, component, func(t *testing.T, url string, c io.Closer, end <-chan webtest.ExchangeEnd) {
		pinged := make(chan struct{}, 1)
		conn, _, err := websocket.Dial(within(t), url, &websocket.DialOptions{HTTPClient: webtest.Client(t), OnPingReceived: func(context.Context, []byte) bool {
			select {
			case pinged <- struct{}{}:
			default:
			}
			return true
		}})
		if err != nil {
			t.Fatal(err)
		}
		ctx := conn.CloseRead(within(t))
		select {
		case <-pinged:
		case <-ctx.Done():
			t.Error("got the connection's end, want a ping before it")
		}
		_ = conn.Close(websocket.StatusNormalClosure, "")
		<-end
	})
}

func TestInvalidConfigsAreRejected(t *testing.T) {
	talk := func(context.Context, *websocket.Conn) error { return nil }
	tell := func(context.Context, *Stream) error { return nil }
	for says, made := range map[string]func() (web.Component, error){
		"origins":     func() (web.Component, error) { return WebSocket(WebSocketConfig{Origins: []string{"["}}, talk) },
		"max_message": func() (web.Component, error) { return WebSocket(WebSocketConfig{MaxMessage: "0"}, talk) },
		"ping":        func() (web.Component, error) { return Echo(WebSocketConfig{Ping: "often"}) },
		"max_open":    func() (web.Component, error) { return Echo(WebSocketConfig{MaxOpen: -1}) },
		"keep_alive":  func() (web.Component, error) { return SSE(SSEConfig{KeepAlive: "x"}, tell) },
		"retry":       func() (web.Component, error) { return SSE(SSEConfig{Retry: "x"}, tell) },
		"dir":         func() (web.Component, error) { return Watch(WatchConfig{Dir: "/does/not/exist"}) },
		"interval":    func() (web.Component, error) { return Watch(WatchConfig{Dir: ".", Interval: "0s"}) },
	} {
		if _, err := made(); err == nil || !strings.HasPrefix(err.Error(), "events: ") || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want an error about %s", err, says)
		}
	}
}
