package page

import (
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"weir/chat"
	"weir/chat/upload"
)

// A page of another host whose name resolves to this server (DNS rebinding) can access nothing.
func TestRequestForAForeignHostNameIsRefused(t *testing.T) {
	h := filesHost(t, upload.Options{})
	request := func(method, path, host string) *http.Response {
		t.Helper()
		r, err := http.NewRequest(method, "http://"+h.addr+path, strings.NewReader("x"))
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		r.Header.Set("Origin", "http://"+host)
		res, err := h.server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res
	}
	for _, path := range []string{"GET /", "GET /page.js", "GET /irc", "OPTIONS /upload", "POST /upload", "PUT /upload/a", "GET /file/" + strings.Repeat("0", 64) + "/a"} {
		method, path, _ := strings.Cut(path, " ")
		for _, host := range []string{"evil", "evil:8080", "evil.localhost", "chat.example.org.evil"} {
			if got := request(method, path, host).StatusCode; got != http.StatusMisdirectedRequest {
				t.Errorf("%s %s with Host %s: got %d, want 421", method, path, host, got)
			}
		}
		for _, host := range []string{"chat.example.org", "Chat.Example.Org.:443", "localhost:1", "[::1]:8080"} {
			if got := request(method, path, host).StatusCode; got == http.StatusMisdirectedRequest {
				t.Errorf("%s %s with Host %s: got %d, want another status than 421", method, path, host, got)
			}
		}
	}
}

func TestWebSocketForAForeignHostNameIsRefused(t *testing.T) {
	h := filesHost(t, upload.Options{})
	for host, want := range map[string]int{"evil": 421, "chat.example.org": 101, "CHAT.example.org.": 101, "localhost": 101} {
		ws, res, err := websocket.Dial(t.Context(), "ws://"+h.addr+"/irc", &websocket.DialOptions{Host: host, HTTPHeader: http.Header{"Origin": {"http://" + host}}})
		if err == nil {
			_ = ws.CloseNow()
		}
		if res == nil || res.StatusCode != want {
			t.Errorf("Host and Origin %s: got %v and error %v, want status %d", host, res, err, want)
		}
	}
}

func TestSubprotocolIsChosenInTheClientsOrder(t *testing.T) {
	h := startHost(t, Config{}, chat.Options{})
	for _, c := range []struct {
		asked []string
		want  string
	}{
		{nil, ""}, {[]string{textProtocol}, textProtocol}, {[]string{binaryProtocol}, binaryProtocol},
		{[]string{binaryProtocol, textProtocol}, binaryProtocol}, {[]string{textProtocol, binaryProtocol}, textProtocol},
		{[]string{"irc", binaryProtocol, textProtocol}, binaryProtocol}, {[]string{"irc"}, ""}, {[]string{"BINARY.ircv3.net", textProtocol}, binaryProtocol},
	} {
		ws, res, err := h.dial(nil, c.asked...)
		if err != nil {
			t.Fatalf("WebSocket with the subprotocols %q: got %v, want a connection", c.asked, err)
		}
		_ = ws.CloseNow()
		if got := res.Header.Get("Sec-WebSocket-Protocol"); !strings.EqualFold(got, c.want) {
			t.Errorf("subprotocols %q: got %q, want %q", c.asked, got, c.want)
		}
	}
}
