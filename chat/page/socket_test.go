package page

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"weir/chat"
	"weir/internal/chromium"
	"weir/web"
)

// "Servers MUST support both the text.ircv3.net and binary.ircv3.net subprotocols": the kind of
// messages follows.
func TestSubprotocols(t *testing.T) {
	h := startHost(t, Config{}, chat.Options{})
	for _, c := range []struct {
		offered []string
		agreed  string
	}{
		{[]string{textProtocol}, textProtocol},
		{[]string{binaryProtocol}, binaryProtocol},
		{[]string{"unknown.example", binaryProtocol}, binaryProtocol},
		{nil, ""},
	} {
		client := h.client(c.offered...)
		if got := client.ws.Subprotocol(); got != c.agreed {
			t.Errorf("of %q the server takes %q, want %q", c.offered, got, c.agreed)
		}
		client.send("NICK ann", "USER ann 0 * :Ann")
		client.until(" 001 ann ")
		client.send("JOIN #röom", "PRIVMSG #röom :grüß dich 👋", "PING :done")
		client.until("PONG weir.chat :done")
		client.send("QUIT")
		client.ended()
	}
	h.mustHold("#röom", []string{"grüß dich 👋", "grüß dich 👋", "grüß dich 👋", "grüß dich 👋"})
}

// A message is one line: what comes with a line's end is taken, what holds several lines is
// refused.
func TestOneLineAMessage(t *testing.T) {
	h := startHost(t, Config{}, chat.Options{})
	c := h.user("ann", "#a", textProtocol)
	c.send("PING :ended\r\n")
	c.until(":ended")
	c.send("PRIVMSG #a :one\r\nQUIT :two")
	if code := c.ended(); code != websocket.StatusPolicyViolation {
		t.Errorf("two lines in a message end the connection with %v, want %v", code, websocket.StatusPolicyViolation)
	}
	h.mustHold("#a", nil)
}

func TestMessagesOfTheOtherKind(t *testing.T) {
	h := startHost(t, Config{}, chat.Options{})
	c := h.user("ann", "#a", textProtocol)
	if err := c.ws.Write(c.ctx, websocket.MessageBinary, []byte("PING :x")); err != nil {
		t.Fatal(err)
	}
	if code := c.ended(); code != websocket.StatusUnsupportedData {
		t.Errorf("a binary message under %s ends the connection with %v, want %v", textProtocol, code, websocket.StatusUnsupportedData)
	}
}

// Bytes that are not UTF-8 can come in a binary message. They are refused by the session, and go
// nowhere.
func TestNotUTF8(t *testing.T) {
	h := startHost(t, Config{}, chat.Options{})
	c := h.user("ann", "#a", binaryProtocol)
	c.send("PRIVMSG #a :\xff\xfe", "PING :after")
	c.until("INVALID_UTF8")
	c.until(":after")
	h.mustHold("#a", nil)
}

func TestLongLines(t *testing.T) {
	h := startHost(t, Config{}, chat.Options{})
	c := h.user("ann", "#a", textProtocol)
	c.send("PRIVMSG #a :" + strings.Repeat("x", 6000))
	c.until(" 417 ")
	c.send("PRIVMSG #a :short", "PING :still here")
	c.until(":still here")
	c.send(strings.Repeat("x", maxMessage+1))
	if code := c.ended(); code != websocket.StatusMessageTooBig {
		t.Errorf("a message of more than %d bytes ends the connection with %v, want %v", maxMessage, code, websocket.StatusMessageTooBig)
	}
	h.mustHold("#a", []string{"short"})
}

// Pages of other hosts could speak for whoever looks at them.
func TestOrigins(t *testing.T) {
	h := startHost(t, Config{Origins: []string{"*.example.org"}}, chat.Options{})
	for origin, want := range map[string]bool{
		"":                         true, // no browser
		"http://" + h.addr:         true,
		"https://chat.example.org": true,
		"https://example.com":      false,
		"null":                     false,
		"http://127.0.0.1:1":       false,
	} {
		header := http.Header{}
		if origin != "" {
			header.Set("Origin", origin)
		}
		ws, resp, err := h.dial(header, textProtocol)
		if err == nil {
			ws.CloseNow()
		}
		switch {
		case (err == nil) != want:
			t.Errorf("origin %q: error %v, connecting is to be %v", origin, err, want)
		case !want && resp.StatusCode != http.StatusForbidden:
			t.Errorf("origin %q: status %d, want 403", origin, resp.StatusCode)
		}
	}
}

// What waits for a client that takes nothing is bounded: it is cut off, and others go on.
func TestSlowReaderIsClosed(t *testing.T) {
	h := startHost(t, Config{Queue: 64 << 10}, chat.Options{})
	slow := h.user("slow", "#a", textProtocol)
	fast := h.user("fast", "#a", textProtocol)
	line := "PRIVMSG #a :" + strings.Repeat("x", 400)
	gone := make(chan struct{}) // closed when somebody hears that slow has gone
	go func() {
		defer close(gone)
		for {
			_, text, err := fast.ws.Read(fast.ctx)
			if err != nil || strings.HasPrefix(string(text), ":slow!") || strings.Contains(string(text), " :slow!") && strings.Contains(string(text), " QUIT ") {
				return
			}
		}
	}()
	for n := 0; ; n++ {
		select {
		case <-gone:
		default:
			if err := fast.ws.Write(fast.ctx, fast.kind, []byte(line)); err != nil {
				t.Fatal(err)
			}
			continue
		}
		break
	}
	if fast.ctx.Err() != nil {
		t.Fatal("a client that reads nothing is never closed")
	}
	slow.ended()
}

// A stop tells clients so, once what they said is acknowledged.
func TestStop(t *testing.T) {
	h := startHost(t, Config{}, chat.Options{})
	c := h.user("ann", "#a", textProtocol)
	c.send("PRIVMSG #a :last words")
	c.until("last words")
	status := make(chan websocket.StatusCode, 1)
	go func() { status <- c.ended() }()
	h.halt()
	if code := <-status; code != websocket.StatusGoingAway {
		t.Errorf("a stop ends connections with %v, want %v", code, websocket.StatusGoingAway)
	}
	h.run()
	h.mustHold("#a", []string{"last words"})
	if err := errors.Join(h.page.Close(), h.page.Close()); err != nil {
		t.Errorf("Close twice: %v", err)
	}
}

// A page can be a component of a web site.
func TestAsAComponent(t *testing.T) {
	h := startHost(t, Config{}, chat.Options{})
	site, err := web.New(web.FromHTTP(h.page), web.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer site.Close()
	server := httptest.NewServer(site)
	defer server.Close()
	ctx, stop := context.WithTimeout(context.Background(), chromium.StepTimeout)
	defer stop()
	ws, _, err := websocket.Dial(ctx, server.URL+"/irc", &websocket.DialOptions{Subprotocols: []string{textProtocol}})
	if err != nil {
		t.Fatal(err)
	}
	c := &client{t: t, ctx: ctx, ws: ws, kind: websocket.MessageText}
	c.send("NICK ann", "USER ann 0 * :Ann", "PING :here")
	c.until(":here")
	c.send("QUIT")
	c.ended()
}

func TestConfig(t *testing.T) {
	for want, cfg := range map[string]Config{
		"Service":    {},
		"Origins":    {Service: &chat.Service{}, Origins: []string{"["}},
		"below zero": {Service: &chat.Service{}, Queue: -1},
	} {
		if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("New(%+v): error %v, want one that says %q", cfg, err, want)
		}
	}
}
