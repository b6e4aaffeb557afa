package server

import (
	"context"
	"crypto/tls"
	"net"
	"runtime"
	"time"

	"weir/internal/certificate"
	"weir/serve"
	"weir/web/internal/conn"
	"weir/web/internal/engine"
)

// servesTurns reports whether connections are served in turns. Package serve accepts them then.
func servesTurns(w serve.Way) bool { return onLoops(w) || serve.Ways[w].MultiProcess }

// onLoops reports whether a model serves connections on event loops.
func onLoops(w serve.Way) bool { return w == serve.Loop || w == serve.Coroutine || w == serve.Prefork }

// serveTurns serves connections in turns. With child processes, they serve them.
func (s *Server) serveTurns(ctx context.Context) error {
	defer close(s.http1Ended)
	o := s.serveOptions()
	l := s.listener.Listener
	switch {
	case s.config.IsChild:
		l, o.IsChild, o.OnStop = nil, true, s.stop
	case serve.Ways[s.config.Model].MultiProcess:
		o.ChildCommand, o.Workers = s.config.ChildCommand, s.config.Workers
		o.DrainTimeout += childExit
		o.ChildSignals, o.AbortStop = s.config.ChildSignals, s.drainContext.Done()
		if s.certs != nil {
			o.ChildFiles = s.certs.tickets.Shared()
		}
	default:
		o.Loops = processors
	}
	return serve.RunBlocking(ctx, s.config.Model, l, serve.Handler{Open: s.openConn, State: serve.PerConnection}, o)
}

// processors is the number of event loops of a server. Package serve raises GOMAXPROCS, so a server
// that asked later would have more loops than the one before.
var processors = runtime.GOMAXPROCS(0)

// childExit is how much longer than its drain a child process may take to exit.
const childExit = time.Second

// inherited stands for the listener of a child process, which package serve opens.
type inherited struct{}

func (inherited) Accept() (net.Conn, error) { return nil, net.ErrClosed }
func (inherited) Close() error              { return nil }
func (inherited) Addr() net.Addr            { return &net.TCPAddr{} }

// turnConn is a connection that is served in turns.
type turnConn struct {
	server *Server
	conn   net.Conn
	line   *conn.Line
	http   *engine.Conn // nil: TLS is not ready
	tls    *tls.Conn    // nil: none, or not ready
	// the first turn of a connection with TLS has ended
	started bool
}

// openConn opens a connection, or returns nil if it must end.
func (s *Server) openConn(nc net.Conn) serve.Responder {
	place := s.takePlace(nc)
	if place == nil {
		return nil
	}
	c := &turnConn{server: s, conn: nc}
	if s.certs == nil {
		c.line = s.watch.Line(nc, place)
		c.http = s.engine.Open(nc, nil, c.line)
		return c
	}
	// an error of a read, such as that of a stop, would be the last of TLS
	c.line = s.watch.Line(nc.(interface{ NetConn() net.Conn }).NetConn(), place)
	c.line.EndsIdle = true
	return c
}

// Respond implements [serve.Responder].
func (c *turnConn) Respond() serve.Next {
	switch {
	case c.http != nil:
	case !c.started: // the client begins
		c.started = true
		c.line.Await()
		return serve.Wait
	case !c.startTLS():
		return serve.End
	}
	next := c.http.Respond()
	if next == serve.End && c.tls != nil {
		_ = c.tls.CloseWrite() // the client may have gone
	}
	return next
}

// Close implements [serve.Responder].
func (c *turnConn) Close() {
	if c.http != nil {
		c.http.Close()
	}
	c.line.Leave()
}

// maxWaiting is the number of accepted connections that wait for a place.
const maxWaiting = 64

// takePlace waits until the connection limit has room for a connection. It returns nil if the
// connection must end: its client has too many, too many connections wait, or the server stops.
func (s *Server) takePlace(nc net.Conn) *conn.Place {
	g := s.listener
	for first := true; ; first = false {
		place, err := g.connLimit.Take(nc.RemoteAddr().String())
		switch {
		case err == nil:
			return place
		case err == conn.ErrCrowded:
			if g.rejectsInPlainHTTP {
				reject(nc)
			}
			g.onOverLimit(nc.RemoteAddr())
			return nil
		case first && s.waiting.Add(1) > maxWaiting:
			s.waiting.Add(-1)
			return nil
		case first:
			defer s.waiting.Add(-1)
		}
		if serve.Sleep(nc, 10*time.Millisecond) != nil {
			return nil
		}
	}
}

// startTLS makes the handshake. It reports whether HTTP/1 follows: HTTP/2 is served by net/http,
// off the loop.
func (c *turnConn) startTLS() bool {
	s, line := c.server, c.line
	if s.config.Model != serve.Coroutine {
		serve.LeaveLoop(c.conn) // the handshake waits for the client
	}
	t := tls.Server(line, s.certs.config)
	if err := t.Handshake(); err != nil {
		s.rejectHandshake(line, err)
		return false
	}
	line.Arrived()
	state := t.ConnectionState()
	switch state.NegotiatedProtocol {
	case "h2":
		line.Use()
		ended := line.Ended()
		serve.LeaveLoop(c.conn)
		s.h2Conns.handOff(t)
		<-ended
		return false
	case certificate.Challenge:
		t.Close() // the certificate was the answer to the challenge
		return false
	}
	c.tls = t
	c.http = s.engine.Open(tlsConn{t, line}, &state, line)
	return true
}

// tlsConn is a TLS connection as the engine uses it: no stop ends its reads.
type tlsConn struct {
	*tls.Conn
	line *conn.Line // beneath it
}

// NetConn returns the connection for reads by other goroutines than the handler's.
func (c tlsConn) NetConn() net.Conn { return c.Conn }

// TryRead implements [serve.TryRead]. The TLS connection can go on after syscall.EAGAIN, because
// that is a temporary error.
func (c tlsConn) TryRead(p []byte) (int, error) {
	c.line.Tries = true
	defer func() { c.line.Tries = false }()
	return c.Conn.Read(p)
}
