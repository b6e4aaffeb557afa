package engine

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"weir/web/http1"
)

// Config configures a Server. A time of zero means no limit.
type Config struct {
	Handler http.Handler
	Limits  http1.Limits    // zero fields: the defaults of package http1
	Base    context.Context // parent of the requests' contexts; nil: context.Background()

	// from a request's first byte, or the connection's start, to the end of its head
	HeadTimeout time.Duration
	IdleTimeout time.Duration // from a response to the next request
	// How long a request's content may arrive, or a response be taken, more slowly than MinRate.
	SlowTransferGrace time.Duration
	MinRate           int64 // bytes per second

	// OnPanic is called for a panic of the handler, by the connection's goroutine. Nil: panics are
	// not reported. http.ErrAbortHandler is never reported.
	OnPanic func(r *http.Request, value any, stack []byte)
}

// Reuser is implemented by handlers that keep neither the request, its context nor the header of
// the response after ServeHTTP has returned, and that do not change the request. For an exchange in
// which they do, they call the method Detach of the response's writer.
type Reuser interface{ ReusesExchanges() bool }

// Place is notified when a connection becomes idle, and when it is in use again. The connection's
// goroutine calls it.
type Place interface {
	Idle()
	Asked()
}

// Server serves connections. Its methods are safe for concurrent use.
type Server struct {
	config    Config
	exchanges sync.Pool // of *exchange
	slow      atomic.Int64

	mu       sync.Mutex // guards what follows
	stopping bool
	taken    map[*connection]struct{} // connections that a handler has taken over
}

// New returns a server.
func New(c Config) *Server {
	if c.Base == nil {
		c.Base = context.Background()
	}
	s := &Server{config: c, taken: map[*connection]struct{}{}}
	s.exchanges.New = func() any { return newExchange() }
	return s
}

// ServeConn serves the requests of a connection, one after the other, and returns when it has
// ended; the caller then closes it. If a handler takes the connection over, ServeConn returns when
// the connection was closed. place may be nil, and so may state, that of the TLS connection.
func (s *Server) ServeConn(nc net.Conn, state *tls.ConnectionState, place Place) {
	c := connection{server: s, conn: nc, tls: state, place: place, scanner: http1.New(s.config.Limits)}
	if outer, ok := nc.(interface{ NetConn() net.Conn }); ok {
		c.inner = outer.NetConn()
	}
	c.serve()
}

// Dropped returns the number of connections that have ended because the client was too slow, or
// idle for too long.
func (s *Server) Dropped() int64 { return s.slow.Load() }

// Stop makes every later response the last one of its connection, and ends the contexts of the
// requests whose handlers have taken their connections over.
func (s *Server) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopping = true
	for c := range s.taken {
		c.x.context.end()
	}
}

func (s *Server) isStopping() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopping
}
