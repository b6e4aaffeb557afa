package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coder/websocket"
)

// echoWebSocket starts a server that echoes messages, and returns its URL.
func echoWebSocket(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer c.CloseNow()
		for {
			kind, text, err := c.Read(r.Context())
			if err != nil || c.Write(r.Context(), kind, text) != nil {
				return
			}
		}
	}))
	t.Cleanup(s.Close)
	return "ws" + strings.TrimPrefix(s.URL, "http")
}

func TestLoadWSSendsMessages(t *testing.T) {
	url := echoWebSocket(t)
	for want, args := range map[string][]string{
		"closed loop of binary messages of 100 bytes":       {"--duration=50ms"},
		"open loop of 1000 text messages/s of 7 bytes":      {"--duration=50ms", "--rate=1000", "--text", "--size=7", "--header=X-Test: 1"},
		"messages     50 sent and":                          {"--duration=50ms", "--rate=1000", "--count"},
		"messages     0 sent and 0 received in 0.050 s":     {"--duration=50ms", "--count"},
		"control      0 pings answered, 0 connections not ": {"--duration=50ms"},
	} {
		out, err := commandLine(t, append([]string{"load", "ws", "-c4", "--timeout=1m", url}, args...)...)
		if err != nil || !strings.Contains(out, want) || !strings.Contains(out, "errors       none") {
			t.Errorf("%q: got error %v, want none, and %q in\n%s", args, err, want, out)
		}
	}
}

func TestLoadWSRefusesInvalidFlags(t *testing.T) {
	for want, args := range map[string][]string{
		"is not of WebSocket":  {"http://127.0.0.1/"},
		"--rate is 0":          {"--rate=0", "ws://a/"},
		"leave --count and":    {"--knee", "--count", "ws://a/"},
		"limit of the latency": {"--knee", "--limit=1h", "ws://a/"},
		"messages of -1 bytes": {"--size=-1", "ws://a/"},
	} {
		_, err := commandLine(t, append([]string{"load", "ws"}, args...)...)
		if !errors.As(err, new(usageError)) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got error %v, want bad usage with %q", args, err, want)
		}
	}
}
