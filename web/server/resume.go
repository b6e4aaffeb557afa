package server

import (
	"crypto/sha256"
	"crypto/tls"
	"path/filepath"
	"slices"
	"strings"

	"weir/internal/certificate"
	"weir/internal/ticket"
	"weir/serve"
)

// ticketFile returns the file of the keys of session tickets; empty: there is none. Its dot hides
// it from file servers.
func (t *TLS) ticketFile() string {
	if t.TicketKeys != "" {
		return t.TicketKeys
	}
	for _, one := range append([]TLS{*t}, t.More...) {
		switch {
		case one.ACME != nil:
			return filepath.Join(one.ACME.Dir, ".ticket-keys")
		case one.Local != nil:
			return filepath.Join(one.Local.Dir, ".ticket-keys")
		}
	}
	return ""
}

// openTickets opens the keys of session tickets. Child processes inherit those of their parent.
func (c *Config) openTickets(logf func(string, ...any)) (*ticket.Keys, error) {
	if c.IsChild {
		return ticket.Inherited(serve.InheritedFile(0, "keys of session tickets"), logf), nil
	}
	keys := ticket.New(c.TLS.ticketFile(), logf)
	if serve.Ways[c.Model].MultiProcess {
		if err := keys.Share(); err != nil {
			return nil, err
		}
	}
	return keys, nil
}

// configFor is for tls.Config.GetConfigForClient. It binds the sessions of a client to the
// certificate that it gets.
func (c *certificates) configFor(hello *tls.ClientHelloInfo) (*tls.Config, error) {
	if certificate.IsChallenge(hello) {
		return nil, nil
	}
	own, err := c.Get(hello)
	if err != nil {
		return nil, err
	}
	binding := sessionBinding(hello.ServerName, own)
	return &tls.Config{
		MinVersion: c.config.MinVersion, NextProtos: c.config.NextProtos,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return own, nil },
		WrapSession: func(cs tls.ConnectionState, s *tls.SessionState) ([]byte, error) {
			return c.tickets.Seal(cs, s, binding)
		},
		UnwrapSession: func(ticket []byte, cs tls.ConnectionState) (*tls.SessionState, error) {
			return c.tickets.Open(ticket, cs, binding)
		},
	}, nil
}

// sessionBinding identifies what a client has verified: the name that it requested, and the names
// of the certificate. A server with the same keys of tickets, but without that certificate, must
// not resume the session: to the client it would be the server that it is not. RFC 6066, section 3,
// forbids to resume a session under another name. A renewed certificate has the same names.
func sessionBinding(requested string, c *tls.Certificate) []byte {
	names := []string{"server", strings.ToLower(requested)}
	if leaf := c.Leaf; leaf != nil {
		own := slices.Clone(leaf.DNSNames)
		for _, ip := range leaf.IPAddresses {
			own = append(own, ip.String())
		}
		slices.Sort(own)
		names = append(append(names, own...), string(leaf.RawSubject))
	} else {
		names = append(names, string(c.Certificate[0]))
	}
	sum := sha256.Sum256([]byte(strings.Join(names, "\x00")))
	return sum[:]
}
