package server

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"time"

	"weir/serve"
	"weir/web/internal/conn"
	"weir/web/internal/engine"
)

// newHTTP1 returns the project's own engine for HTTP/1.
func (s *Server) newHTTP1() *engine.Server {
	rules := s.config.connRules()
	c := engine.Config{
		Handler: s, Limits: rules.HTTP, Base: s.baseContext,
		HeadTimeout: rules.Header, IdleTimeout: rules.Idle, SlowTransferGrace: rules.Grace, MinRate: rules.Rate,
		OnPanic: func(r *http.Request, value any, stack []byte) {
			s.logEngineLine(fmt.Sprintf("http: panic serving %s: %v\n%s", r.RemoteAddr, value, stack))
		},
	}
	if onLoops(s.config.Model) {
		c.LeaveLoop, c.ReturnToLoop = serve.LeaveLoop, serve.ReturnToLoop
	}
	c.ReadsWait = !onLoops(s.config.Model)
	return engine.New(c)
}

// serveHTTP1 serves the connections of a listener by the engine until ctx ends.
func (s *Server) serveHTTP1(ctx context.Context, l net.Listener) error {
	defer close(s.http1Ended)
	return serve.RunBlocking(ctx, s.config.Model, l, serve.Handler{Handle: s.handleHTTP1}, s.serveOptions())
}

func (s *Server) serveOptions() serve.Options {
	// later than awaitHTTP1, which counts the connections that are left
	return serve.Options{DrainTimeout: max(s.config.drainTimeout(), 0) + lateDrain, LingerTimeout: lingerTimeout}
}

// awaitHTTP1 waits until the engine has ended. When drain ends it closes all connections, and
// returns their number.
func (s *Server) awaitHTTP1(drain context.Context) (closed int) {
	select {
	case <-s.http1Ended:
	case <-drain.Done():
		closed = s.watch.CloseAll()
		s.engine.Abort()
	}
	return closed
}

// lateDrain is how much later than this package the engine's own drain ends.
const lateDrain = 50 * time.Millisecond

// lingerTimeout is how long a connection that the server has ended may wait for its client.
const lingerTimeout = 500 * time.Millisecond

// handleHTTP1 serves one connection of the watch.
func (s *Server) handleHTTP1(nc net.Conn) {
	inner := nc
	if outer, ok := nc.(interface{ NetConn() net.Conn }); ok {
		inner = outer.NetConn()
	}
	var state *tls.ConnectionState
	if t, ok := inner.(*tls.Conn); ok {
		agreed := t.ConnectionState()
		state, inner = &agreed, t.NetConn()
	}
	s.engine.ServeConn(nc, state, inner.(*conn.Line))
}

// lineListener is the listener of the engine without TLS.
type lineListener struct{ *limitedListener }

func (l lineListener) Accept() (net.Conn, error) {
	line, err := l.accept()
	if err != nil {
		return nil, err
	}
	return line, nil
}

// ReusesExchanges implements [engine.Reuser]. It reports whether the present handler is one.
func (s *Server) ReusesExchanges() bool { return reusesExchanges(*s.handler.Load()) }

func reusesExchanges(h http.Handler) bool {
	r, ok := h.(engine.Reuser)
	return ok && r.ReusesExchanges()
}
