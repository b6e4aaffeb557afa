package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/caddyserver/certmagic"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// alpnChallenge is the protocol of TLS-ALPN-01 (RFC 8737).
const alpnChallenge = "acme-tls/1"

// ACME obtains certificates, and renews them before they run out (RFC 8555, by the TLS-ALPN-01 challenge:
// port 443 of each name's addresses must lead to this server).
type ACME struct {
	Names   []string       // the names to have certificates for
	Email   string         // where the authority may write to; optional
	Agreed  bool           // the authority's terms are agreed to; must be true
	Dir     string         // folder that keeps accounts, keys and certificates
	CA      string         // the authority's directory, a URL; "" is Let's Encrypt
	CARoots *x509.CertPool // whom to trust as the authority's own server; nil is the system's
}

func (a *ACME) validate() error {
	switch {
	case len(a.Names) == 0:
		return errors.New("server: ACME needs the names to have certificates for")
	case !a.Agreed:
		return errors.New("server: ACME needs Agreed: the authority issues to those who agree to its terms")
	case a.Dir == "":
		return errors.New("server: ACME needs a Dir to keep its keys and certificates in")
	}
	return nil
}

// manager is certmagic, told to keep to itself: no listener of its own, no log but ours.
type manager struct {
	names []string
	magic *certmagic.Config
	cache *certmagic.Cache
	ended sync.Once
}

func newManager(a *ACME, c *Config, at net.Addr) (*manager, error) {
	tcp, ok := at.(*net.TCPAddr)
	if !ok {
		return nil, fmt.Errorf("server: ACME needs a TCP address to be reached at, not %v", at)
	}
	logger := zap.New(reporter{c.logf})
	m := &manager{names: a.Names}
	m.cache = certmagic.NewCache(certmagic.CacheOptions{
		Logger:           logger,
		GetConfigForCert: func(certmagic.Certificate) (*certmagic.Config, error) { return m.magic, nil },
	})
	m.magic = certmagic.New(m.cache, certmagic.Config{Storage: &certmagic.FileStorage{Path: a.Dir}, Logger: logger})
	m.magic.Issuers = []certmagic.Issuer{certmagic.NewACMEIssuer(m.magic, certmagic.ACMEIssuer{
		CA: a.CA, Email: a.Email, Agreed: a.Agreed, TrustedRoots: a.CARoots, Logger: logger,
		// The port is taken, by this server: the library then lets it answer by GetCertificate.
		DisableHTTPChallenge: true, ListenHost: tcp.IP.String(), AltTLSALPNPort: tcp.Port,
	})}
	return m, nil
}

func (m *manager) get(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	return m.magic.GetCertificate(hello)
}

// manage begins to obtain what is missing, and goes on in the background until ctx ends.
func (m *manager) manage(ctx context.Context) { m.magic.ManageAsync(ctx, m.names) }

func (m *manager) close() { m.ended.Do(m.cache.Stop) }

// reporter passes on what certmagic says of failures.
type reporter struct {
	logf func(string, ...any)
}

func (r reporter) Enabled(l zapcore.Level) bool      { return l >= zapcore.ErrorLevel }
func (r reporter) With([]zapcore.Field) zapcore.Core { return r }
func (r reporter) Sync() error                       { return nil }
func (r reporter) Check(e zapcore.Entry, c *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if r.Enabled(e.Level) {
		return c.AddCore(e, r)
	}
	return c
}

func (r reporter) Write(e zapcore.Entry, fields []zapcore.Field) error {
	values := zapcore.NewMapObjectEncoder()
	for _, f := range fields {
		f.AddTo(values)
	}
	r.logf("server: ACME: %s %v", e.Message, values.Fields)
	return nil
}
