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

// onLoops reports whether a model serves connections on event loops, which accept them.
func onLoops(w serve.Way) bool { return w == serve.Loop || w == serve.Coroutine }

// serveLoops serves connections on event loops.
func (s *Server) serveLoops(ctx context.Context) error {
	defer close(s.http1Ended)
	o := s.serveOptions()
	o.Loops = runtime.GOMAXPROCS(0)
	return serve.RunBlocking(ctx, s.config.Model, s.listener.Listener, serve.Handler{Open: s.openOnLoop}, o)
}

// loopConn is a connection on an event loop.
type loopConn struct {
	server *Server
	conn   net.Conn
	line   *conn.Line
	http   *engine.Conn // nil: TLS is not ready
	tls    *tls.Conn    // nil: none, or not ready
	// the first turn of a connection with TLS has ended
	started bool
}

// openOnLoop opens a connection, or returns nil if it must end.
func (s *Server) openOnLoop(nc net.Conn) serve.Responder {
	place := s.takePlace(nc)
	if place == nil {
		return nil
	}
	c := &loopConn{server: s, conn: nc}
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
func (c *loopConn) Respond() serve.Next {
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
func (c *loopConn) Close() {
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
func (c *loopConn) startTLS() bool {
	s, line := c.server, c.line
	if s.config.Model == serve.Loop {
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
