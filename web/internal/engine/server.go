package engine

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"weir/serve"
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
	// How long a request's content may arrive more slowly than MinRate.
	SlowTransferGrace time.Duration
	MinRate           int64 // bytes per second

	// LeaveLoop and ReturnToLoop, of package serve, if connections are served by coroutines on
	// event loops. Nil: handlers may block.
	LeaveLoop    func(net.Conn) bool
	ReturnToLoop func(net.Conn)
	// Reads of a connection that Open has returned wait, too: there are no event loops.
	ReadsWait bool

	// OnPanic is called for a panic of the handler, by the connection's goroutine. Nil: panics are
	// not reported. http.ErrAbortHandler is never reported.
	OnPanic func(r *http.Request, value any, stack []byte)
}

// Reuser is implemented by handlers that keep neither the request, its context nor the header of
// the response after ServeHTTP has returned, and that do not change the request. For an exchange in
// which they do, they call the method Detach of the response's writer. Before they block, other
// than by reading the request's content and writing the response, or let another goroutine use
// these, they call its method LeaveLoop.
type Reuser interface{ ReusesExchanges() bool }

// Monitor is notified of what happens on a connection. It closes a connection whose client takes
// responses too slowly, and may close one that is idle. The goroutine that serves the connection
// calls it; when a handler has taken the connection over, any goroutine may call Writing and
// Written.
type Monitor interface {
	Idle()    // nothing is asked
	Asked()   // a request arrives
	Writing() // a write begins
	Written() // the write has ended: the kernel may still have to send some of it
}

// Server serves connections. Its methods are safe for concurrent use.
type Server struct {
	config    Config
	exchanges sync.Pool // of *exchange
	slow      atomic.Int64
	aborted   chan struct{} // closed by Abort; carries no values
	// The value of http.ServerContextKey in the requests' contexts. [httputil.ReverseProxy] looks
	// for one: without it, a response that breaks off would end as if it were complete.
	standIn *http.Server

	stopping atomic.Bool

	mu sync.Mutex // guards what follows
	// the connections that a handler has taken over, with the contexts of their requests
	taken map[*Conn]*requestContext
}

// New returns a server.
func New(c Config) *Server {
	if c.Base == nil {
		c.Base = context.Background()
	}
	s := &Server{config: c, taken: map[*Conn]*requestContext{}, aborted: make(chan struct{}), standIn: &http.Server{Handler: c.Handler}}
	s.exchanges.New = func() any { return newExchange() }
	return s
}

// ServeConn serves the requests of a connection whose reads wait, one after the other, and returns
// when it has ended. For the rest see Open.
func (s *Server) ServeConn(nc net.Conn, state *tls.ConnectionState, monitor Monitor) {
	c := s.Open(nc, state, monitor)
	c.inTurns = false
	defer c.Close()
	for c.Respond() != serve.End {
	}
}

// Open returns a connection that is served by turns. The caller closes nc when it has ended. If a
// handler takes the connection over, the turn lasts until the connection was closed. monitor may be
// nil, and so may state, that of the TLS connection.
func (s *Server) Open(nc net.Conn, state *tls.ConnectionState, monitor Monitor) *Conn {
	c := &Conn{server: s, conn: nc, tls: state, monitor: monitor, scanner: http1.New(s.config.Limits), inTurns: !s.config.ReadsWait}
	if outer, ok := nc.(interface{ NetConn() net.Conn }); ok {
		c.inner = outer.NetConn()
	}
	return c
}

// Dropped returns the number of connections that have ended because the client has sent too slowly,
// or was idle for too long.
func (s *Server) Dropped() int64 { return s.slow.Load() }

// Stop makes every later response the last one of its connection, and ends the contexts of the
// requests whose handlers have taken their connections over.
func (s *Server) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopping.Store(true)
	for _, context := range s.taken {
		context.end()
	}
}

// Abort ends the wait for connections that handlers have taken over. The caller has closed them. It
// may be called once.
func (s *Server) Abort() { close(s.aborted) }

func (s *Server) isStopping() bool { return s.stopping.Load() }
