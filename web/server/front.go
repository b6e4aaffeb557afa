package server

import (
	"crypto/tls"
	"net"
	"net/http"
	"strings"

	"weir/web/internal/client"
)

// overTLS stands for the connection between a client and the front before this server.
var overTLS = new(tls.ConnectionState)

// behindFront is a request as its client has sent it, when a trusted front has passed it on: from
// the client's address, whose port is not known, and over TLS or not as X-Forwarded-Proto says.
// Requests of others are left alone.
func (s *Server) behindFront(r *http.Request) *http.Request {
	peer, ok := client.Parse(r.RemoteAddr)
	if !ok || !s.fronts.Has(peer) {
		return r
	}
	from := s.fronts.Client(peer, r.Header["X-Forwarded-For"])
	passed := r.WithContext(client.WithPeer(r.Context(), r.RemoteAddr))
	if from != peer {
		passed.RemoteAddr = net.JoinHostPort(from.String(), "0")
	}
	switch protos := r.Header["X-Forwarded-Proto"]; {
	case len(protos) == 0:
	case strings.EqualFold(last(protos), "https"):
		passed.TLS = overTLS
	default:
		passed.TLS = nil
	}
	return passed
}

// last is the last member of a comma-separated list: what the nearest front has written.
func last(lines []string) string {
	line := lines[len(lines)-1]
	return strings.TrimSpace(line[strings.LastIndexByte(line, ',')+1:])
}
