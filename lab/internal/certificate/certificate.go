// Package certificate makes the certificate that servers use in comparisons over TLS: self-signed,
// with an ECDSA key on the curve P-256, as a small site has it.
//
// Limitations: the certificate is valid for a day and for loopback addresses and the given ones
// only.
package certificate

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

const (
	certFile = "cert.pem"
	keyFile  = "key.pem"
	validFor = 24 * time.Hour
)

// Files are the PEM files of a certificate and of its key.
type Files struct{ Cert, Key string }

// In returns the names of the files in dir.
func In(dir string) Files {
	return Files{Cert: filepath.Join(dir, certFile), Key: filepath.Join(dir, keyFile)}
}

// Create creates dir and the files in it, or replaces them. The certificate is valid for loopback
// addresses and for host, an IP address.
func Create(dir, host string) (Files, error) {
	f := In(dir)
	cert, key, err := sign(host)
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err == nil {
		err = errors.Join(write(f.Cert, "CERTIFICATE", cert, 0o644), write(f.Key, "PRIVATE KEY", key, 0o600))
	}
	if err != nil {
		return Files{}, fmt.Errorf("cannot make a certificate: %w", err)
	}
	return f, nil
}

// sign returns a self-signed certificate and its key, in DER.
func sign(host string) (cert, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: "weir lab"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(validFor),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
		BasicConstraintsValid: true,
	}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = append(template.IPAddresses, ip)
	}
	if cert, err = x509.CreateCertificate(rand.Reader, template, template, private.Public(), private); err != nil {
		return nil, nil, err
	}
	key, err = x509.MarshalPKCS8PrivateKey(private)
	return cert, key, err
}

func write(file, kind string, der []byte, mode os.FileMode) error {
	return os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), mode)
}
