package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	"weir/web/internal/conn"
)

// quicServer serves HTTP/3 on the UDP port with the number of the TCP port.
type quicServer struct {
	http3.Server
	packets   net.PacketConn
	transport *quic.Transport
	altSvc    string
}

func newQUIC(s *Server) (*quicServer, error) {
	at, ok := s.Addr().(*net.TCPAddr)
	if !ok {
		return nil, fmt.Errorf("server: HTTP/3 uses the port of the TCP address, but the address is %v: disable HTTP3", s.Addr())
	}
	packets, err := net.ListenPacket("udp", at.String())
	if err != nil {
		return nil, fmt.Errorf("server: HTTP/3: %w", err)
	}
	places := s.listener.connLimit
	q := &quicServer{packets: packets, transport: &quic.Transport{Conn: packets, VerifySourceAddress: func(net.Addr) bool { return places.Busy() }},
		altSvc: fmt.Sprintf(`h3=":%d"; ma=2592000`, at.Port)}
	rules := s.config.connRules()
	q.Server = http3.Server{
		Handler: s, TLSConfig: http3.ConfigureTLSConfig(s.certs.config.Clone()), MaxHeaderBytes: s.config.maxHeadBytes(), IdleTimeout: rules.Idle,
		ConnContext: func(ctx context.Context, c *quic.Conn) context.Context {
			return s.takePlaceHTTP3(conn.WithStopping(ctx, s.stopping), c)
		},
		QUICConfig: &quic.Config{HandshakeIdleTimeout: rules.Header, MaxIdleTimeout: rules.Idle, MaxIncomingStreams: 250},
	}
	return q, nil
}

// takePlaceHTTP3 counts an HTTP/3 connection against the connection limit, or closes it.
func (s *Server) takePlaceHTTP3(ctx context.Context, c *quic.Conn) context.Context {
	end := func() { _ = c.CloseWithError(quic.ApplicationErrorCode(http3.ErrCodeExcessiveLoad), "") }
	place, err := s.listener.connLimit.Take(c.RemoteAddr().String())
	if err != nil {
		end()
		if err == conn.ErrCrowded {
			s.reportOverLimit(c.RemoteAddr())
		}
		return ctx
	}
	place.Opened(end)
	context.AfterFunc(c.Context(), place.Leave)
	return conn.WithPlace(ctx, place)
}

// advertise announces HTTP/3 to clients of HTTP/1 and HTTP/2 (RFC 7838).
func (q *quicServer) advertise(h http.Header) { h["Alt-Svc"] = []string{q.altSvc} }

func (q *quicServer) serve() error {
	listener, err := q.transport.ListenEarly(q.TLSConfig, q.QUICConfig)
	if err != nil {
		return err
	}
	err = q.ServeListener(listener)
	if errors.Is(err, quic.ErrServerClosed) || errors.Is(err, http.ErrServerClosed) {
		return http.ErrServerClosed
	}
	return err
}

// shutdown lets requests finish until ctx ends.
func (q *quicServer) shutdown(ctx context.Context) {
	q.Shutdown(ctx)
	q.close()
}

func (q *quicServer) close() error {
	return errors.Join(q.Server.Close(), q.transport.Close(), q.packets.Close())
}
