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

// "Servers MUST support both the text.ircv3.net and binary.ircv3.net subprotocols": the type of
// messages follows the subprotocol.
func TestASubprotocolIsNegotiated(t *testing.T) {
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
			t.Errorf("subprotocols %q: got %q, want %q", c.offered, got, c.agreed)
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

// A message is one line: a trailing line break is accepted, several lines are refused.
func TestMessageIsOneLine(t *testing.T) {
	h := startHost(t, Config{}, chat.Options{})
	c := h.user("ann", "#a", textProtocol)
	c.send("PING :ended\r\n")
	c.until(":ended")
	c.send("PRIVMSG #a :one\r\nQUIT :two")
	if code := c.ended(); code != websocket.StatusPolicyViolation {
		t.Errorf("close status after two lines in a message: got %v, want %v", code, websocket.StatusPolicyViolation)
	}
	h.mustHold("#a", nil)
}

func TestMessageTypeMustMatchTheSubprotocol(t *testing.T) {
	h := startHost(t, Config{}, chat.Options{})
	c := h.user("ann", "#a", textProtocol)
	if err := c.ws.Write(c.ctx, websocket.MessageBinary, []byte("PING :x")); err != nil {
		t.Fatal(err)
	}
	if code := c.ended(); code != websocket.StatusUnsupportedData {
		t.Errorf("close status after a binary message under %s: got %v, want %v", textProtocol, code, websocket.StatusUnsupportedData)
	}
}

// A binary message may contain invalid UTF-8. The session refuses it.
func TestInvalidUTF8IsRefused(t *testing.T) {
	h := startHost(t, Config{}, chat.Options{})
	c := h.user("ann", "#a", binaryProtocol)
	c.send("PRIVMSG #a :\xff\xfe", "PING :after")
	c.until("INVALID_UTF8")
	c.until(":after")
	h.mustHold("#a", nil)
}

func TestLongLinesAreRefused(t *testing.T) {
	h := startHost(t, Config{}, chat.Options{})
	c := h.user("ann", "#a", textProtocol)
	c.send("PRIVMSG #a :" + strings.Repeat("x", 6000))
	c.until(" 417 ")
	c.send("PRIVMSG #a :short", "PING :still here")
	c.until(":still here")
	c.send(strings.Repeat("x", maxMessage+1))
	if code := c.ended(); code != websocket.StatusMessageTooBig {
		t.Errorf("close status after a message of more than %d bytes: got %v, want %v", maxMessage, code, websocket.StatusMessageTooBig)
	}
	h.mustHold("#a", []string{"short"})
}

// A page of another host must not act for its visitor: browsers send its origin.
func TestOnlyAllowedOriginsMayConnect(t *testing.T) {
	h := startHost(t, Config{Origins: []string{"*.example.org"}}, chat.Options{})
	for origin, want := range map[string]bool{
		"":                         true, // not a browser
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
			t.Errorf("origin %q: got error %v, want success %v", origin, err, want)
		case !want && resp.StatusCode != http.StatusForbidden:
			t.Errorf("origin %q: got status %d, want 403", origin, resp.StatusCode)
		}
	}
}

// The output queue of a client that does not read is bounded: it is disconnected, and other clients
// are not affected.
func TestSlowReaderIsDisconnected(t *testing.T) {
	h := startHost(t, Config{Queue: 64 << 10}, chat.Options{})
	slow := h.user("slow", "#a", textProtocol)
	fast := h.user("fast", "#a", textProtocol)
	line := "PRIVMSG #a :" + strings.Repeat("x", 400)
	gone := make(chan struct{}) // closed when fast sees that slow has quit
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
		t.Fatal("a client that does not read: got it still connected, want it disconnected")
	}
	slow.ended()
}

// After a stop, clients receive Going Away once their messages are acknowledged.
func TestStopSendsGoingAway(t *testing.T) {
	h := startHost(t, Config{}, chat.Options{})
	c := h.user("ann", "#a", textProtocol)
	c.send("PRIVMSG #a :last words")
	c.until("last words")
	status := make(chan websocket.StatusCode, 1)
	go func() { status <- c.ended() }()
	h.halt()
	if code := <-status; code != websocket.StatusGoingAway {
		t.Errorf("close status after a stop: got %v, want %v", code, websocket.StatusGoingAway)
	}
	h.run()
	h.mustHold("#a", []string{"last words"})
	if err := errors.Join(h.page.Close(), h.page.Close()); err != nil {
		t.Errorf("calling Close twice: got %v, want no error", err)
	}
}

// A page can be a component of a web site.
func TestPageIsAComponentOfASite(t *testing.T) {
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

func TestInvalidConfigIsRejected(t *testing.T) {
	for want, cfg := range map[string]Config{
		"Service":  {},
		"Origins":  {Service: &chat.Service{}, Origins: []string{"["}},
		"negative": {Service: &chat.Service{}, Queue: -1},
	} {
		if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("New(%+v): got error %v, want one with %q", cfg, err, want)
		}
	}
}

// A client that connects again sends again what is not in the history. So its new connection ends
// the one before: what it had sent there must not arrive later.
func TestANewConnectionEndsItsPredecessor(t *testing.T) {
	const id = "?client=0123456789abcdef"
	for name, c := range map[string]struct {
		old, new string
		ended    bool
	}{
		"of the same client":  {id, id, true},
		"of another client":   {id, id + "0", false},
		"with a short id":     {"?client=0123", "?client=0123", false},
		"of unknown clients":  {"", "", false},
		"with a very long id": {id + strings.Repeat("0", 64), id + strings.Repeat("0", 64), false},
	} {
		t.Run(name, func(t *testing.T) {
			h := startHost(t, Config{}, chat.Options{})
			h.query = c.old
			old := h.user("ann", "#a", textProtocol)
			h.query = c.new
			client := h.client(textProtocol)
			client.send("NICK ann", "USER ann 0 * :Ann")
			if got := strings.Contains(client.until(" ann "), " 001 "); got != c.ended { // or 433
				t.Errorf("got the nick of the old connection at once: %v, want %v", got, c.ended)
			}
			if c.ended {
				old.ended()
			} else {
				old.send("PING :there")
				old.until(":there")
			}
		})
	}
}
