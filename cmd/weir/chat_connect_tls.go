package main

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"
)

// chatTrust holds the flags by which a client verifies the server, and authenticates itself.
type chatTrust struct {
	TLS         bool   `name:"tls" help:"Connect by TLS."`
	CA          string `name:"ca" type:"existingfile" placeholder:"FILE" help:"Trust only certificates of this authority, a PEM file. Implies --tls."`
	Fingerprint string `placeholder:"HEX" help:"Trust only the certificate with this SHA-256 fingerprint, which the server logs. Implies --tls."`
	Insecure    bool   `help:"Do not verify the certificate: an attacker on the path can read everything. For tests. Implies --tls."`
	Cert        string `type:"existingfile" placeholder:"FILE" help:"Log in to --account by this certificate and its key, both PEM in one file, instead of a password. Implies --tls."`
}

// secure reports whether the connection uses TLS.
func (c *chatTrust) secure() bool {
	return c.TLS || c.CA != "" || c.Fingerprint != "" || c.Insecure || c.Cert != ""
}

// tls returns the configuration of connections to a host.
func (c *chatTrust) tls(host string) (*tls.Config, error) {
	config := &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
	if c.Cert != "" {
		pair, err := tls.LoadX509KeyPair(c.Cert, c.Cert)
		if err != nil {
			return nil, fmt.Errorf("--cert %s: %w", c.Cert, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	given := 0
	for _, set := range []bool{c.CA != "", c.Fingerprint != "", c.Insecure} {
		if set {
			given++
		}
	}
	switch {
	case given > 1:
		return nil, errors.New("--ca, --fingerprint and --insecure exclude each other: give one of them")
	case c.CA != "":
		text, err := os.ReadFile(c.CA)
		if err != nil {
			return nil, err
		}
		if config.RootCAs = x509.NewCertPool(); !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("--ca %s contains no PEM certificate", c.CA)
		}
	case c.Fingerprint != "":
		want, err := hex.DecodeString(strings.ReplaceAll(c.Fingerprint, ":", ""))
		if err != nil || len(want) != sha256.Size {
			return nil, fmt.Errorf("--fingerprint %q is not 64 hex digits", c.Fingerprint)
		}
		config.InsecureSkipVerify = true // VerifyConnection is stricter
		config.VerifyConnection = func(s tls.ConnectionState) error { return samePrint(s.PeerCertificates[0], want) }
	case c.Insecure:
		config.InsecureSkipVerify = true
	}
	return config, nil
}

func samePrint(cert *x509.Certificate, want []byte) error {
	if got := sha256.Sum256(cert.Raw); string(got[:]) != string(want) {
		return distrust("the server's certificate has the fingerprint %x instead of the given one: it was replaced, or another server answers", got)
	}
	return nil
}

// dialTLS connects. Its error explains in a sentence why a certificate is not trusted.
func dialTLS(ctx context.Context, address string, config *tls.Config) (net.Conn, error) {
	conn, err := (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", address)
	if err == nil {
		return conn, nil
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return nil, distrust("%s does not speak TLS: leave --tls out, or give the port that does", address)
	}
	if failed, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return nil, untrusted(failed, config.ServerName)
	}
	return nil, err
}

// distrustError is the failed verification of a server. Connecting again would not help.
type distrustError struct{ error }

func distrust(format string, args ...any) error {
	return distrustError{fmt.Errorf(format, args...)}
}

// dialer returns a function that connects. With TLS it has connected once already, so that a
// certificate that is not trusted is an error at once; the first call returns that connection.
func dialer(ctx context.Context, address string, secure *tls.Config) (dial func(context.Context) (net.Conn, error), err error) {
	if secure == nil {
		return func(ctx context.Context) (net.Conn, error) { return new(net.Dialer).DialContext(ctx, "tcp", address) }, nil
	}
	trying, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	first, err := dialTLS(trying, address, secure)
	if _, ok := errors.AsType[distrustError](err); ok {
		return nil, err
	}
	return func(ctx context.Context) (net.Conn, error) {
		if conn := first; conn != nil {
			first = nil
			return conn, nil
		}
		return dialTLS(ctx, address, secure)
	}, nil
}

// untrusted explains a certificate that is not trusted.
func untrusted(err *tls.CertificateVerificationError, host string) error {
	cert := err.UnverifiedCertificates[0]
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return distrust("the server's certificate is signed by no trusted authority; its fingerprint is %x: if the server logged the same, "+
			"--fingerprint trusts it; --ca trusts an authority", sha256.Sum256(cert.Raw))
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		names := cert.DNSNames
		for _, ip := range cert.IPAddresses {
			names = append(names, ip.String())
		}
		return distrust("the server's certificate is for %s, not for %s: connect by one of its names", strings.Join(names, ", "), host)
	}
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired {
		return distrust("the server's certificate is valid from %s to %s: it has expired, or a clock is wrong",
			cert.NotBefore.Format("2006-01-02"), cert.NotAfter.Format("2006-01-02"))
	}
	return distrustError{err}
}
