package server

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"sync"

	"weir/internal/certificate"
	"weir/internal/lograte"
	"weir/internal/ticket"
)

// ACME obtains certificates and renews them before they expire (RFC 8555). It uses the TLS-ALPN-01
// challenge: port 443 of each name's addresses must lead to this server.
type ACME = certificate.ACME

// Local issues certificates for localhost and other local names by an authority of this machine,
// which clients must be configured to trust.
type Local = certificate.Local

// certificates are a server's TLS settings and the source of its certificates.
type certificates struct {
	config *tls.Config
	*certificate.Source
	sharedSource bool // the caller owns the source: do not manage or close it
	tickets      *ticket.Keys
	running      sync.WaitGroup // renews tickets
}

func newCertificates(c *Config, faults *lograte.Limiter, at net.Addr) (_ *certificates, err error) {
	logf := func(format string, args ...any) {
		line := fmt.Sprintf("server: "+format, args...)
		faults.Say(line, line)
	}
	own := &certificates{sharedSource: c.TLS.Source != nil, config: &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}}
	if own.Source, err = openSource(c.TLS, logf, at); err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	if own.tickets, err = c.openTickets(logf); err != nil {
		return nil, fmt.Errorf("server: keys of session tickets: %w", err)
	}
	own.config.GetConfigForClient = own.configFor
	own.config.GetCertificate = own.Get
	if own.Challenged() {
		own.config.NextProtos = append(own.config.NextProtos, certificate.Challenge)
	}
	return own, nil
}

func openSource(t *TLS, logf func(string, ...any), at net.Addr) (*certificate.Source, error) {
	if t.Source != nil {
		return t.Source, nil
	}
	var all []*certificate.Source
	for _, one := range append([]TLS{*t}, t.More...) {
		s, err := openOne(one, logf, at)
		if err != nil {
			certificate.ByName(all...).Close()
			return nil, err
		}
		all = append(all, s)
	}
	return certificate.ByName(all...), nil
}

// openOne opens the source of one certificate.
func openOne(t TLS, logf func(string, ...any), at net.Addr) (*certificate.Source, error) {
	switch {
	case t.Local != nil:
		return certificate.ByLocal(t.Local, logf)
	case t.ACME == nil:
		return certificate.Files(t.CertFile, t.KeyFile, logf)
	}
	tcp, ok := at.(*net.TCPAddr)
	if !ok {
		return nil, fmt.Errorf("ACME needs a TCP address, got %v", at)
	}
	return certificate.ByACME(t.ACME, tcp, logf)
}

// manage renews keys of tickets, and obtains and renews ACME certificates, until ctx ends.
func (c *certificates) manage(ctx context.Context) {
	c.running.Go(func() { c.tickets.Run(ctx) })
	if !c.sharedSource {
		c.Manage(ctx)
	}
}

// close is called after the end of manage's ctx.
func (c *certificates) close() {
	c.running.Wait()
	c.tickets.Close()
	if !c.sharedSource {
		c.Close()
	}
}
