package events

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"path"
	"sync"
	"time"

	"github.com/coder/websocket"

	"weir/web"
	"weir/web/components/internal/unit"
)

// WebSocketConfig configures [WebSocket]. The zero value is a good default.
type WebSocketConfig struct {
	// Origins are the hosts whose pages may connect, besides the server's own host: patterns of
	// [path.Match], such as "*.example.org", or with a scheme, "https://example.org". A client that
	// is not a browser sends no origin and may connect. Nil: no other host.
	Origins []string `hcl:"origins,optional"`

	// Protocols are the supported subprotocols, in order of preference. Nil: none.
	Protocols []string `hcl:"protocols,optional"`

	// MaxMessage is the maximum size of a received message; a larger one closes the connection with
	// status 1009. Empty: "64KB".
	MaxMessage string `hcl:"max_message,optional"`

	// Ping is the interval of pings. A client that does not answer one within the same time is
	// disconnected. Empty: "30s"; "0s": none.
	Ping string `hcl:"ping,optional"`

	// MaxOpen limits the connected clients; half of them may have one address, except loopback.
	// Further ones are answered by 503. Add the address of a load balancer to the server's trusted
	// proxies: otherwise all users share one address. 0: no limit.
	MaxOpen int `hcl:"max_open,optional"`

	// OnOverLimit receives a line for the operator when a client is rejected because it has half of
	// all places. Goroutines of exchanges call it. Nil: not reported.
	OnOverLimit func(line string)
}

// WebSockets is the component made by [WebSocket].
type WebSockets struct {
	*connectedClients
	talk    func(context.Context, *websocket.Conn) error
	accept  websocket.AcceptOptions
	largest int64
	ping    time.Duration
}

// WebSocket returns a source of a function that talks to a client. The function owns the
// connection. It should read whenever it is not busy, since reading also answers pings. Its context
// ends when the client stops answering or the component is closed.
//
// When the function returns, the connection is closed: with status 1000, or with 1011 after an
// error, which is only logged. The caller must call Close of the component, which is a
// *[WebSockets].
func WebSocket(cfg WebSocketConfig, talk func(context.Context, *websocket.Conn) error) (web.Component, error) {
	for _, o := range cfg.Origins {
		if _, err := path.Match(o, ""); err != nil || o == "" {
			return nil, fmt.Errorf("events: origins has %q, which is not a valid pattern: write a host such as \"*.example.org\"", o)
		}
	}
	largest, err := unit.Size("events: max_message", cfg.MaxMessage, 64<<10)
	if err != nil {
		return nil, err
	}
	if largest < 1 || largest == math.MaxInt64 {
		return nil, fmt.Errorf("events: max_message is %q: write a size such as \"64KB\"", cfg.MaxMessage)
	}
	ping, err := unit.Duration("events: ping", cfg.Ping, 30*time.Second)
	if err != nil {
		return nil, err
	}
	e, err := newConnectedClients("websocket", cfg.MaxOpen, cfg.OnOverLimit)
	if err != nil {
		return nil, err
	}
	return &WebSockets{connectedClients: e, talk: talk, largest: largest, ping: ping,
		accept: websocket.AcceptOptions{OriginPatterns: cfg.Origins, Subprotocols: cfg.Protocols}}, nil
}

// Handle implements [web.Component].
func (s *WebSockets) Handle(c *web.Conn) {
	if c.Answered() || !s.admit(c) {
		return
	}
	var failed error
	web.FromHTTP(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer s.leave()
		failed = s.serve(w, r)
	})).Handle(c)
	if c.Body().IsHijack() {
		c.SetStatus(http.StatusSwitchingProtocols)
	}
	c.After(func(c *web.Conn) {
		if c.Err() == nil {
			c.SetErr(failed)
		}
	})
}

// serve is the handler. Until Accept takes the connection over, it runs in the setup phase.
func (s *WebSockets) serve(w http.ResponseWriter, r *http.Request) error {
	accept := s.accept
	conn, err := websocket.Accept(w, r, &accept)
	if err != nil {
		return fmt.Errorf("events: %w", err) // Accept has answered
	}
	defer func() { _ = conn.CloseNow() }()
	conn.SetReadLimit(s.largest)
	// not canceled with the request: a closing handshake comes first
	ctx, end := context.WithCancel(context.WithoutCancel(r.Context()))
	closed := make(chan bool, 1) // the result of runPings; never closed
	go func() { closed <- s.runPings(ctx, end, r.Context(), conn) }()
	stopPings := sync.OnceValue(func() (hasClosed bool) { end(); return <-closed })
	defer stopPings()

	err = s.talk(ctx, conn)
	switch hasClosed := stopPings(); {
	case hasClosed || err != nil && websocket.CloseStatus(err) != -1:
		return nil // the server has closed the connection, or the client has
	case err == nil:
		_ = conn.Close(websocket.StatusNormalClosure, "")
	default:
		_ = conn.Close(websocket.StatusInternalError, "")
	}
	return err
}

// runPings pings the client, and ends the connection when there is no answer or the server stops.
// It returns when ctx ends. It reports whether it has ended the connection, which makes the reads
// of the connection's user fail.
func (s *WebSockets) runPings(ctx context.Context, end context.CancelFunc, server context.Context, conn *websocket.Conn) (hasClosed bool) {
	var tick <-chan time.Time
	if s.ping > 0 {
		t := time.NewTicker(s.ping)
		defer t.Stop()
		tick = t.C
	}
	for {
		select {
		case <-ctx.Done():
			return false
		case <-s.stopping.Done():
		case <-server.Done():
		case <-tick:
			if s.answersPing(ctx, server, conn) {
				continue
			}
			end()
			_ = conn.CloseNow()
			return true
		}
		_ = conn.Close(websocket.StatusGoingAway, "the server stops")
		end()
		return true
	}
}

// answersPing reports whether the client answers a ping, or whether the wait was canceled.
func (s *WebSockets) answersPing(ctx, server context.Context, conn *websocket.Conn) bool {
	limited, cancel := context.WithTimeout(ctx, s.ping)
	defer cancel()
	defer context.AfterFunc(s.stopping, cancel)()
	defer context.AfterFunc(server, cancel)()
	err := conn.Ping(limited)
	return err == nil || errors.Is(err, context.Canceled)
}

// Echo returns a WebSocket that sends back every message, to try a connection with.
func Echo(cfg WebSocketConfig) (web.Component, error) {
	c, err := WebSocket(cfg, func(ctx context.Context, conn *websocket.Conn) error {
		for {
			kind, data, err := conn.Read(ctx)
			if err != nil {
				return err
			}
			if err := conn.Write(ctx, kind, data); err != nil {
				return err
			}
		}
	})
	if err == nil {
		c.(*WebSockets).name = "echo"
	}
	return c, err
}
