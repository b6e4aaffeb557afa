// Package tlsclient is the client's side of TLS for a load whose loop has one thread: settings, a
// connection that does not block, and what was negotiated.
//
// # Limitations
//
// TLS 1.2 and 1.3 by crypto/tls, no client certificates. A connection needs Linux.
package tlsclient

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"weir/lab/internal/tally"
)

// Settings are those of https:// and wss:// URLs.
type Settings struct {
	Insecure    bool   // accept any certificate
	CA          []byte // certificates to trust instead of the system's, in PEM; nil: the system's
	ServerName  string // name to ask for and to verify; empty: the host of the URL
	Resume      bool   // resume sessions; else every handshake is a full one
	KeyExchange string // the only key exchange to offer, one of KeyExchanges; empty: Go's choice
}

// KeyExchanges are the key exchanges that can be chosen, with their identifiers.
var KeyExchanges = map[string]tls.CurveID{
	"X25519": tls.X25519, "X25519MLKEM768": tls.X25519MLKEM768, "P-256": tls.CurveP256, "P-384": tls.CurveP384, "P-521": tls.CurveP521,
}

// Wrong returns what is wrong with t, or "". The scheme is that of URLs with TLS, https or wss. The
// load's URL has it if secure.
func (t Settings) Wrong(scheme string, secure bool) string {
	given := t.Insecure || t.CA != nil || t.ServerName != "" || t.Resume || t.KeyExchange != ""
	switch {
	case !secure && given:
		return fmt.Sprintf("the settings of TLS are for %s:// URLs: leave them out, or change the URL", scheme)
	case t.Insecure && t.CA != nil:
		return "--insecure accepts any certificate and --ca only trusted ones: give one of them"
	case t.CA != nil && !x509.NewCertPool().AppendCertsFromPEM(t.CA):
		return "the file of --ca has no certificate in PEM: give one that starts with -----BEGIN CERTIFICATE-----"
	case t.KeyExchange != "" && KeyExchanges[t.KeyExchange] == 0:
		return fmt.Sprintf("the key exchange %q is unknown: give one of %s", t.KeyExchange, keyExchangeNames())
	}
	return ""
}

func keyExchangeNames() string {
	var names []string
	for name := range KeyExchanges {
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// Config returns the settings of a client for a server with this host, and with this application
// protocol (ALPN). t must be valid.
func (t Settings) Config(host, protocol string) *tls.Config {
	c := &tls.Config{ServerName: cmp.Or(t.ServerName, host), NextProtos: []string{protocol}, InsecureSkipVerify: t.Insecure} //nolint:gosec // on request
	if t.CA != nil {
		c.RootCAs = x509.NewCertPool()
		c.RootCAs.AppendCertsFromPEM(t.CA)
	}
	if t.Resume {
		c.ClientSessionCache = tls.NewLRUClientSessionCache(1) // all connections have one key
	}
	if t.KeyExchange != "" {
		c.CurvePreferences = []tls.CurveID{KeyExchanges[t.KeyExchange]}
	}
	return c
}

// Report is the part of a load's report about TLS.
type Report struct {
	Version     string `json:"version"`
	Cipher      string `json:"cipher"`
	KeyExchange string `json:"key_exchange,omitempty"` // empty: RSA
	ALPN        string `json:"alpn"`                   // empty: the server chose none
	ServerName  string `json:"server_name"`
	Verified    bool   `json:"verified"` // the certificate was verified
	Resume      bool   `json:"resume"`   // sessions are resumed
	// successful handshakes of the whole run, without that of the first request
	Handshakes int64 `json:"handshakes"`
	Resumed    int64 `json:"resumed"` // of Handshakes: resumed a session
	// from the open TCP connection to the end of the handshake, of connections opened in the window
	// or before the first request
	HandshakeUS tally.Times `json:"handshake_us"`
}

// NewReport describes the parameters of a connection.
func NewReport(s tls.ConnectionState, c *tls.Config) *Report {
	r := &Report{Version: tls.VersionName(s.Version), Cipher: tls.CipherSuiteName(s.CipherSuite), ALPN: s.NegotiatedProtocol,
		ServerName: c.ServerName, Verified: !c.InsecureSkipVerify, Resume: c.ClientSessionCache != nil}
	if s.CurveID != 0 {
		r.KeyExchange = s.CurveID.String()
		for name, id := range KeyExchanges {
			if id == s.CurveID {
				r.KeyExchange = name
			}
		}
	}
	return r
}

// HandshakeError says why a handshake failed and what to do.
func HandshakeError(name string, err error) error {
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var notTLS tls.RecordHeaderError
	why := ""
	switch {
	case errors.As(err, &authority):
		why = "the server's certificate is not trusted: give the certificate that signed it by --ca FILE, or accept any by --insecure"
	case errors.As(err, &host):
		why = fmt.Sprintf("the server's certificate is not for %q: give a name that it has by --server-name, or accept any by --insecure", name)
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		why = "the server's certificate has expired or is not yet valid: renew it, or accept any by --insecure"
	case strings.Contains(err.Error(), "no application protocol"): // an alert, which has no type
		why = "the server does not have the HTTP version that ALPN asked for: leave out --http2, or turn that version on in the server"
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		why = "the server did not complete the handshake in time: correct the port, or see what the server waits for"
	case errors.As(err, &notTLS):
		why = "the server does not speak TLS on this port: correct the port, or write a URL without TLS"
	default:
		return fmt.Errorf("TLS handshake failed: %w", err)
	}
	return fmt.Errorf("TLS handshake failed: %s (%w)", why, err)
}

// Text describes the parameters in one line.
func (r *Report) Text() string {
	trust := "verified"
	if !r.Verified {
		trust = "not verified"
	}
	alpn := "no ALPN"
	if r.ALPN != "" {
		alpn = "ALPN " + r.ALPN
	}
	parts := []string{r.Version, r.Cipher, r.KeyExchange, alpn, fmt.Sprintf("certificate for %s %s", r.ServerName, trust)}
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), ", ")
}
