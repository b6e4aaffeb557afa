package server

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"sync"
	"time"
)

// certificates are a server's TLS settings and where they come from.
type certificates struct {
	config *tls.Config
	acme   *manager // nil: files
}

func newCertificates(t *TLS, c *Config, at net.Addr) (*certificates, error) {
	own := &certificates{config: &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}}
	if t.ACME != nil {
		m, err := newManager(t.ACME, c, at)
		if err != nil {
			return nil, err
		}
		own.acme, own.config.GetCertificate = m, m.get
		own.config.NextProtos = append(own.config.NextProtos, alpnChallenge)
		return own, nil
	}
	pair := &pair{certFile: t.CertFile, keyFile: t.KeyFile, logf: c.logf}
	if err := pair.load(); err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	own.config.GetCertificate = pair.get
	return own, nil
}

// manage obtains and renews what ACME has to, until ctx ends.
func (c *certificates) manage(ctx context.Context) {
	if c.acme != nil {
		c.acme.manage(ctx)
	}
}

func (c *certificates) close() {
	if c.acme != nil {
		c.acme.close()
	}
}

// pair is a certificate and its key in files, which are looked at again when a client connects, at most once a
// second. A pair that cannot be loaded leaves the one before in use, and is reported once.
type pair struct {
	certFile, keyFile string
	logf              func(string, ...any)

	mu      sync.Mutex // guards what follows
	looked  time.Time
	version string // of the files, as last tried
	loaded  *tls.Certificate
}

func (p *pair) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.looked) >= time.Second {
		if err := p.load(); err != nil {
			p.logf("server: the certificate before stays in use: %v", err)
		}
	}
	return p.loaded, nil
}

// load reads the files if they changed since the last try. mu is held, or nobody else has p yet.
func (p *pair) load() error {
	p.looked = time.Now()
	version := stamp(p.certFile) + stamp(p.keyFile)
	if version == p.version {
		return nil
	}
	p.version = version
	c, err := tls.LoadX509KeyPair(p.certFile, p.keyFile)
	if err != nil {
		return fmt.Errorf("cannot use the certificate %s with the key %s: %w", p.certFile, p.keyFile, err)
	}
	p.loaded = &c
	return nil
}

// stamp tells versions of a file apart.
func stamp(name string) string {
	info, err := os.Stat(name)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(info.ModTime().UnixNano(), info.Size(), ";")
}
