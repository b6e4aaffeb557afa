package agent

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"weir/lab/internal/certificate"
)

const fingerprintPrefix = "sha256:"

// newSecret returns 256 random bits as text.
func newSecret() string {
	b := make([]byte, 32)
	rand.Read(b) //nolint:errcheck // never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

// newCertificate makes a certificate and returns it with its fingerprint. Nothing of it stays on
// the disk.
func newCertificate(host string) (cert tls.Certificate, fingerprint string, err error) {
	dir, err := os.MkdirTemp("", "weir-agent-")
	if err != nil {
		return cert, "", err
	}
	files, err := certificate.Create(dir, host)
	if err == nil {
		cert, err = tls.LoadX509KeyPair(files.Cert, files.Key)
	}
	if err = errors.Join(err, os.RemoveAll(dir)); err != nil {
		return cert, "", fmt.Errorf("agent: cannot make a certificate: %w", err)
	}
	sum := sha256.Sum256(cert.Certificate[0])
	return cert, fingerprintPrefix + hex.EncodeToString(sum[:]), nil
}

// pinned returns the settings of a connection to the only server whose certificate has the
// fingerprint. The fingerprint stands in for names, authorities and dates.
func pinned(fingerprint string) (*tls.Config, error) {
	want, err := hex.DecodeString(strings.TrimPrefix(fingerprint, fingerprintPrefix))
	if err != nil || len(want) != sha256.Size {
		return nil, fmt.Errorf("the fingerprint %.80q is invalid: copy it from the coordinator's line, %s and 64 hexadecimal digits", fingerprint, fingerprintPrefix)
	}
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		InsecureSkipVerify: true, // VerifyConnection does more
		VerifyConnection: func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) > 0 {
				sum := sha256.Sum256(s.PeerCertificates[0].Raw)
				if subtle.ConstantTimeCompare(sum[:], want) == 1 {
					return nil
				}
			}
			return errors.New("the server's certificate has another fingerprint: it is not the coordinator that the line is from")
		},
	}, nil
}

// checkURL returns an error unless text is tls://HOST:PORT. The error does not quote text, which
// may hold a password.
func checkURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "tls" || u.User != nil || u.Port() == "" || u.Hostname() == "" || u.Path != "" || u.RawQuery != "" || u.Fragment != "" {
		return errors.New("the URL of the coordinator must be tls://HOST:PORT, without anything else")
	}
	return nil
}
