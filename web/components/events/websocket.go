package events

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"path"
	"time"

	"github.com/coder/websocket"

	"weir/web"
	"weir/web/components/internal/unit"
)

// WebSocketConfig says who may connect, and what is taken. The zero value is a good one.
type WebSocketConfig struct {
	// Origins are the hosts whose pages may connect, beside the host that they connect to: patterns
	// of [path.Match], such as "*.example.org", or with a scheme, "https://example.org". A client
	// that is no browser sends no origin, and may. Nil: no other host.
	Origins []string `hcl:"origins,optional"`

	// Protocols are the subprotocols that are spoken, the most wanted first. Nil: none is agreed
	// on.
	Protocols []string `hcl:"protocols,optional"`

	// MaxMessage is the size of the largest message that is read; a larger one ends the connection
	// with status 1009. Empty: "64KB".
	MaxMessage string `hcl:"max_message,optional"`

	// Ping is the time between pings; a client that does not answer one in as long again has gone.
	// Empty: "30s"; "0s": there are none.
	Ping string `hcl:"ping,optional"`

	// MaxOpen is how many may be connected at once, half of them from one address, but for
	// loopback; to others the answer is 503. Behind a load balancer, name its address in the
	// server's trusted: otherwise all users have one address. 0: any number.
	MaxOpen int `hcl:"max_open,optional"`

	// OnOverLimit receives a line for the operator when a client is rejected because it has half of
	// all places. Goroutines of exchanges call it. Nil: not reported.
	OnOverLimit func(line string)
}

// WebSockets is the component that [WebSocket] makes.
type WebSockets struct {
	*ends
	talk    func(context.Context, *websocket.Conn) error
	accept  websocket.AcceptOptions
	largest int64
	ping    time.Duration
}

// WebSocket makes a source of a function that talks to a client. The function owns the connection,
// and should be reading whenever it is not busy, because that is also how pings are answered; its
// context ends when the client has stopped answering or the component is closed. When it returns,
// the connection is closed: with status 1000, or with 1011 after an error, which goes to the log
// alone. Who calls WebSocket calls Close of the component, which is a *[WebSockets].
func WebSocket(cfg WebSocketConfig, talk func(context.Context, *websocket.Conn) error) (web.Component, error) {
	for _, o := range cfg.Origins {
		if _, err := path.Match(o, ""); err != nil || o == "" {
			return nil, fmt.Errorf("events: origins has %q, which is no pattern: write a host such as \"*.example.org\"", o)
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
	e, err := newEnds("websocket", cfg.MaxOpen, cfg.OnOverLimit)
	if err != nil {
		return nil, err
	}
	return &WebSockets{ends: e, talk: talk, largest: largest, ping: ping,
		accept: websocket.AcceptOptions{OriginPatterns: cfg.Origins, Subprotocols: cfg.Protocols}}, nil
}

// Handle implements [web.Component].
func (s *WebSockets) Handle(c *web.Conn) {
	if c.Answered() || !s.enter(c) {
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

// serve is the handler: up to Accept's taking over of the connection it belongs to the set-up.
func (s *WebSockets) serve(w http.ResponseWriter, r *http.Request) error {
	accept := s.accept
	conn, err := websocket.Accept(w, r, &accept)
	if err != nil {
		return fmt.Errorf("events: %w", err) // Accept has answered
	}
	defer func() { _ = conn.CloseNow() }()
	conn.SetReadLimit(s.largest)
	// a closing handshake comes before its end
	ctx, end := context.WithCancel(context.WithoutCancel(r.Context()))
	done := make(chan struct{}) // closed by keep
	go func() { defer close(done); s.keep(ctx, end, r.Context(), conn) }()
	defer func() { end(); <-done }()

	switch err = s.talk(ctx, conn); {
	case err == nil:
		_ = conn.Close(websocket.StatusNormalClosure, "")
	case websocket.CloseStatus(err) != -1 || ctx.Err() != nil: // there is nobody any more
		return nil
	default:
		_ = conn.Close(websocket.StatusInternalError, "")
	}
	return err
}

// keep pings the client, and ends the conversation when there is no answer or the server stops. It
// returns when ctx ends.
func (s *WebSockets) keep(ctx context.Context, end context.CancelFunc, server context.Context, conn *websocket.Conn) {
	var tick <-chan time.Time
	if s.ping > 0 {
		t := time.NewTicker(s.ping)
		defer t.Stop()
		tick = t.C
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.stopping.Done():
		case <-server.Done():
		case <-tick:
			if s.answers(ctx, server, conn) {
				continue
			}
			end()
			_ = conn.CloseNow()
			return
		}
		_ = conn.Close(websocket.StatusGoingAway, "the server stops")
		end()
		return
	}
}

// answers says whether the client answers a ping, as far as there is time to wait for it.
func (s *WebSockets) answers(ctx, server context.Context, conn *websocket.Conn) bool {
	limited, cancel := context.WithTimeout(ctx, s.ping)
	defer cancel()
	defer context.AfterFunc(s.stopping, cancel)()
	defer context.AfterFunc(server, cancel)()
	err := conn.Ping(limited)
	return err == nil || errors.Is(err, context.Canceled)
}

// Echo is a WebSocket end that sends back what it is told: something to try a connection with.
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
