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

// quicServer serves HTTP/3 beside the others, on the UDP port of the same number.
type quicServer struct {
	http3.Server
	packets net.PacketConn
	altSvc  string
}

func newQUIC(s *Server) (*quicServer, error) {
	at, ok := s.Addr().(*net.TCPAddr)
	if !ok {
		return nil, fmt.Errorf("server: HTTP/3 needs a TCP address to take the port of, not %v: leave HTTP3 out", s.Addr())
	}
	packets, err := net.ListenPacket("udp", at.String())
	if err != nil {
		return nil, fmt.Errorf("server: HTTP/3: %w", err)
	}
	q := &quicServer{packets: packets, altSvc: fmt.Sprintf(`h3=":%d"; ma=2592000`, at.Port)}
	rules := s.config.rules()
	q.Server = http3.Server{
		Handler: s, TLSConfig: http3.ConfigureTLSConfig(s.certs.config.Clone()), MaxHeaderBytes: s.config.headBytes(), IdleTimeout: rules.Idle,
		ConnContext: func(ctx context.Context, _ *quic.Conn) context.Context { return conn.WithStopping(ctx, s.ending) },
		QUICConfig:  &quic.Config{HandshakeIdleTimeout: rules.Header, MaxIdleTimeout: rules.Idle, MaxIncomingStreams: 250},
	}
	return q, nil
}

// advertise tells a client of HTTP/1 and 2 that there is HTTP/3.
func (q *quicServer) advertise(h http.Header) { h["Alt-Svc"] = []string{q.altSvc} }

func (q *quicServer) serve() error {
	err := q.Serve(q.packets)
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

func (q *quicServer) close() error { return errors.Join(q.Server.Close(), q.packets.Close()) }
