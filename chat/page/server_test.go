package page

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"weir/chat"
	"weir/chat/account"
	"weir/internal/chromium"
)

// host is a chat with its page, at an address that stays the same across restarts.
type host struct {
	t    *testing.T
	dir  string
	addr string
	cfg  Config
	o    chat.Options

	query   string // of the URL that dial uses
	service *chat.Service
	page    *Page
	server  *httptest.Server
	conns   sync.Map // net.Conn of each WebSocket on the server's side
}

func startHost(t *testing.T, cfg Config, o chat.Options) *host {
	t.Helper()
	h := &host{t: t, dir: t.TempDir(), addr: "127.0.0.1:0", cfg: cfg, o: o}
	h.run()
	t.Cleanup(h.halt)
	return h
}

func (h *host) run() {
	h.t.Helper()
	service, err := chat.Open(h.dir, h.o)
	if err != nil {
		h.t.Fatal(err)
	}
	h.cfg.Service = service
	page, err := New(h.cfg)
	if err != nil {
		h.t.Fatal(err)
	}
	l, err := net.Listen("tcp", h.addr)
	if err != nil {
		h.t.Fatal(err)
	}
	s := &httptest.Server{Listener: l, Config: &http.Server{Handler: page, ConnState: func(c net.Conn, state http.ConnState) {
		if state == http.StateHijacked {
			h.conns.Store(c, nil)
		}
	}}}
	s.Start()
	h.addr, h.service, h.page, h.server = l.Addr().String(), service, page, s
}

// cut resets every WebSocket connection.
func (h *host) cut() {
	h.conns.Range(func(c, _ any) bool {
		h.conns.Delete(c)
		c.(net.Conn).(*net.TCPConn).SetLinger(0)
		c.(net.Conn).Close()
		return true
	})
}

// halt stops the server as a signal does.
func (h *host) halt() {
	h.t.Helper()
	if h.service == nil {
		return
	}
	if err := h.page.Close(); err != nil {
		h.t.Errorf("Page.Close: got %v, want nil", err)
	}
	h.server.Close()
	if err := h.service.Close(); err != nil {
		h.t.Errorf("Service.Close: got %v, want nil", err)
	}
	h.service = nil
}

// account creates an account.
func (h *host) account(name, password string) {
	h.t.Helper()
	store, err := account.Open(h.dir, account.Options{Iterations: 4096})
	if err != nil {
		h.t.Fatal(err)
	}
	defer store.Close()
	if _, err := store.Add(name, password, account.Member, false); err != nil {
		h.t.Fatal(err)
	}
}

// client is a WebSocket client.
type client struct {
	t    *testing.T
	ctx  context.Context
	ws   *websocket.Conn
	kind websocket.MessageType
}

func (h *host) dial(header http.Header, protocols ...string) (*websocket.Conn, *http.Response, error) {
	ctx, stop := context.WithTimeout(context.Background(), chromium.StepTimeout)
	defer stop()
	return websocket.Dial(ctx, "ws://"+h.addr+"/irc"+h.query, &websocket.DialOptions{Subprotocols: protocols, HTTPHeader: header})
}

// client connects with one of the subprotocols.
func (h *host) client(protocols ...string) *client {
	h.t.Helper()
	ws, _, err := h.dial(nil, protocols...)
	if err != nil {
		h.t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(context.Background(), 4*chromium.StepTimeout)
	h.t.Cleanup(func() { ws.CloseNow(); stop() })
	ws.SetReadLimit(1 << 20)
	c := &client{t: h.t, ctx: ctx, ws: ws, kind: websocket.MessageText}
	if ws.Subprotocol() == binaryProtocol {
		c.kind = websocket.MessageBinary
	}
	return c
}

// user is a client that is registered and has joined a room.
func (h *host) user(nick, room string, protocols ...string) *client {
	h.t.Helper()
	c := h.client(protocols...)
	c.send("CAP REQ :message-tags server-time echo-message batch draft/chathistory", "NICK "+nick, "USER "+nick+" 0 * :"+nick, "CAP END", "JOIN "+room)
	c.until(" 366 ")
	return c
}

func (c *client) send(lines ...string) {
	c.t.Helper()
	for _, line := range lines {
		if err := c.ws.Write(c.ctx, c.kind, []byte(line)); err != nil {
			c.t.Fatalf("sending %q: %v", line, err)
		}
	}
}

// line returns the next message, which must have the right type.
func (c *client) line() (string, error) {
	c.t.Helper()
	kind, text, err := c.ws.Read(c.ctx)
	if err == nil && kind != c.kind {
		c.t.Fatalf("type of a message: got %v, want %v", kind, c.kind)
	}
	if strings.ContainsAny(string(text), "\r\n") {
		c.t.Fatalf("got the message %q, want one line without a line end", text)
	}
	return string(text), err
}

// until reads up to a line that contains text.
func (c *client) until(text string) string {
	c.t.Helper()
	for {
		line, err := c.line()
		if err != nil {
			c.t.Fatalf("the connection ended, want a line with %q: %v", text, err)
		}
		if strings.Contains(line, text) {
			return line
		}
	}
}

// ended returns the close status of the connection.
func (c *client) ended() websocket.StatusCode {
	c.t.Helper()
	for {
		if _, err := c.line(); err != nil {
			return websocket.CloseStatus(err)
		}
	}
}

// log returns the texts in a room's log, in order.
func (h *host) log(room string) []string {
	h.t.Helper()
	c := h.user("reader"+strings.ReplaceAll(time.Now().Format("150405.000000"), ".", ""), room)
	defer c.ws.CloseNow()
	var texts []string
	c.send("CHATHISTORY LATEST " + room + " * 1000")
	c.until(" BATCH +")
	for {
		line := c.until("")
		if strings.Contains(line, " BATCH -") {
			return texts
		}
		_, text, _ := strings.Cut(line, " "+room+" :")
		texts = append(texts, text)
	}
}

func (h *host) mustHold(room string, want []string) {
	h.t.Helper()
	if got := h.log(room); !slices.Equal(got, want) {
		h.t.Errorf("log of %s: got %q, want %q", room, got, want)
	}
}
