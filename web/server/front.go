package server

import (
	"crypto/tls"
	"net"
	"net/http"
	"strings"

	"weir/web/internal/client"
)

// proxyTLSState stands for the TLS connection between a client and the proxy before this server.
var proxyTLSState = new(tls.ConnectionState)

// withForwardedClient returns a request from a trusted proxy as the client sent it: with the
// client's address (its port is not known), and with or without TLS according to X-Forwarded-Proto.
// It returns requests of other peers unchanged.
func (s *Server) withForwardedClient(r *http.Request) *http.Request {
	peer, ok := client.Parse(r.RemoteAddr)
	if !ok || !s.trustedProxies.Contains(peer) {
		return r
	}
	from := s.trustedProxies.Client(peer, r.Header["X-Forwarded-For"])
	passed := r.WithContext(client.WithProxyAddr(r.Context(), r.RemoteAddr))
	if from != peer {
		passed.RemoteAddr = net.JoinHostPort(from.String(), "0")
	}
	switch protos := r.Header["X-Forwarded-Proto"]; {
	case len(protos) == 0:
	case strings.EqualFold(lastMember(protos), "https"):
		passed.TLS = proxyTLSState
	default:
		passed.TLS = nil
	}
	return passed
}

// lastMember returns the last member of a comma-separated list: the one that the nearest proxy has
// written.
func lastMember(lines []string) string {
	line := lines[len(lines)-1]
	return strings.TrimSpace(line[strings.LastIndexByte(line, ',')+1:])
}
