package certificate

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"sync"

	"github.com/caddyserver/certmagic"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// Challenge is the ALPN protocol of TLS-ALPN-01 (RFC 8737). A server whose source is Challenged
// negotiates it with clients that offer nothing else, and closes the connection after the
// handshake: the certificate is the answer.
const Challenge = "acme-tls/1"

// ACME obtains and renews certificates (RFC 8555) by the TLS-ALPN-01 challenge: port 443 of each
// name's addresses must lead to where challenges are answered.
type ACME struct {
	Names   []string       // the names to obtain certificates for
	Email   string         // contact address for the authority; optional
	Agreed  bool           // the authority's terms are accepted; must be true
	Dir     string         // folder for accounts, keys and certificates
	CA      string         // the authority's directory URL; "" is Let's Encrypt
	CARoots *x509.CertPool // roots for the authority's own server; nil is the system's
}

// Validate returns an error that says in one sentence what is missing.
func (a *ACME) Validate() error {
	switch {
	case len(a.Names) == 0:
		return errors.New("ACME needs the names to have certificates for")
	case !a.Agreed:
		return errors.New("ACME needs Agreed: the authority issues to those who agree to its terms")
	case a.Dir == "":
		return errors.New("ACME needs a Dir to keep its keys and certificates in")
	}
	return nil
}

// manager wraps certmagic, with its log replaced by logf.
type manager struct {
	names []string
	magic *certmagic.Config
	cache *certmagic.Cache
	ended sync.Once
}

// ByACME returns a source of certificates by ACME. A listener at the port answers the challenges if
// it uses Get and Challenge, or the same Dir. If there is no listener, the source answers them
// itself while a challenge is pending.
func ByACME(a *ACME, at *net.TCPAddr, logf func(format string, args ...any)) (*Source, error) {
	if err := a.Validate(); err != nil {
		return nil, err
	}
	logger := zap.New(reporter{logf})
	m := &manager{names: a.Names}
	m.cache = certmagic.NewCache(certmagic.CacheOptions{
		Logger:           logger,
		GetConfigForCert: func(certmagic.Certificate) (*certmagic.Config, error) { return m.magic, nil },
	})
	host := ""
	if at.IP != nil {
		host = at.IP.String()
	}
	m.magic = certmagic.New(m.cache, certmagic.Config{Storage: &certmagic.FileStorage{Path: a.Dir}, Logger: logger})
	m.magic.Issuers = []certmagic.Issuer{certmagic.NewACMEIssuer(m.magic, certmagic.ACMEIssuer{
		CA: a.CA, Email: a.Email, Agreed: a.Agreed, TrustedRoots: a.CARoots, Logger: logger,
		DisableHTTPChallenge: true, ListenHost: host, AltTLSALPNPort: at.Port,
	})}
	return &Source{acme: m}, nil
}

// IsChallenge reports whether a client offers only the challenge's protocol.
func IsChallenge(hello *tls.ClientHelloInfo) bool {
	return len(hello.SupportedProtos) == 1 && hello.SupportedProtos[0] == Challenge
}

// reporter passes certmagic's failures to logf.
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
	r.logf("ACME: %s %v", e.Message, values.Fields)
	return nil
}
