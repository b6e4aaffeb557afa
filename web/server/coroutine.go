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
)

// serveCoroutines serves connections by a coroutine each, on event loops that accept them.
func (s *Server) serveCoroutines(ctx context.Context) error {
	defer close(s.http1Ended)
	o := s.serveOptions()
	o.Loops = runtime.GOMAXPROCS(0)
	return serve.RunBlocking(ctx, s.config.Model, s.listener.Listener, serve.Handler{Handle: s.handleCoroutine}, o)
}

// handleCoroutine serves one connection.
func (s *Server) handleCoroutine(nc net.Conn) {
	place := s.takePlace(nc)
	if place == nil {
		return
	}
	if s.certs == nil {
		line := s.watch.Line(nc, place)
		defer line.Leave()
		s.engine.ServeConn(nc, nil, line)
		return
	}
	// an error of a read, such as that of a stop, would be the last of TLS
	line := s.watch.Line(nc.(interface{ NetConn() net.Conn }).NetConn(), place)
	line.EndsIdle = true
	defer line.Leave()
	s.serveTLS(nc, line)
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

// serveTLS serves a connection with TLS: HTTP/1 on the event loop, HTTP/2 by net/http, off it.
func (s *Server) serveTLS(nc net.Conn, line *conn.Line) {
	line.Await()
	t := tls.Server(line, s.certs.config)
	if err := t.Handshake(); err != nil {
		s.rejectHandshake(line, err)
		return
	}
	line.Arrived()
	state := t.ConnectionState()
	switch state.NegotiatedProtocol {
	case "h2":
		line.Use()
		ended := line.Ended()
		serve.LeaveLoop(nc)
		s.h2Conns.handOff(t)
		<-ended
	case certificate.Challenge:
		t.Close() // the certificate was the answer to the challenge
	default:
		s.engine.ServeConn(tlsConn{t}, &state, line)
		_ = t.CloseWrite() // the client may have gone
	}
}

// tlsConn is a TLS connection as the engine uses it: no stop ends its reads.
type tlsConn struct{ *tls.Conn }

// NetConn returns the connection for reads by other goroutines than the handler's.
func (c tlsConn) NetConn() net.Conn { return c.Conn }
