package server

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"

	"weir/internal/certificate"
	"weir/internal/lograte"
)

// ACME obtains certificates, and renews them before they run out (RFC 8555, by the TLS-ALPN-01
// challenge: port 443 of each name's addresses must lead to this server).
type ACME = certificate.ACME

// certificates are a server's TLS settings and where they come from.
type certificates struct {
	config *tls.Config
	*certificate.Source
	shared bool // the source is somebody else's
}

func newCertificates(t *TLS, faults *lograte.Limiter, at net.Addr) (_ *certificates, err error) {
	own := &certificates{shared: t.Source != nil, config: &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}}
	if own.Source, err = source(t, faults, at); err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	own.config.GetCertificate = own.Get
	if own.Challenged() {
		own.config.NextProtos = append(own.config.NextProtos, certificate.Challenge)
	}
	return own, nil
}

func source(t *TLS, faults *lograte.Limiter, at net.Addr) (*certificate.Source, error) {
	logf := func(format string, args ...any) {
		line := fmt.Sprintf("server: "+format, args...)
		faults.Say(line, line)
	}
	if t.Source != nil {
		return t.Source, nil
	}
	if t.ACME == nil {
		return certificate.Files(t.CertFile, t.KeyFile, logf)
	}
	tcp, ok := at.(*net.TCPAddr)
	if !ok {
		return nil, fmt.Errorf("ACME needs a TCP address to be reached at, not %v", at)
	}
	return certificate.ByACME(t.ACME, tcp, logf)
}

// manage obtains and renews what ACME has to, until ctx ends.
func (c *certificates) manage(ctx context.Context) {
	if !c.shared {
		c.Manage(ctx)
	}
}

func (c *certificates) close() {
	if !c.shared {
		c.Close()
	}
}
