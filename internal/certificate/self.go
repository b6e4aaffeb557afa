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
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// selfYears is how long a self-signed certificate is valid. It is long because clients that have
// pinned it need no renewal.
const selfYears = 10

// Self returns the files of a self-signed certificate in a folder. It makes them for names, DNS
// names and addresses, if they do not exist. Clients must be configured to trust its fingerprint.
func Self(dir string, names []string) (certFile, keyFile string, err error) {
	certFile, keyFile = filepath.Join(dir, "self.pem"), filepath.Join(dir, "self.key")
	_, err = os.Stat(certFile)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return certFile, keyFile, err
	}
	cert, key, err := makeSelf(names)
	if err != nil {
		return "", "", fmt.Errorf("making a certificate: %w", err)
	}
	err = os.MkdirAll(dir, 0o700)
	if err == nil {
		err = os.WriteFile(keyFile, key, 0o600)
	}
	if err == nil { // the key is written first: the certificate's existence is checked
		err = os.WriteFile(certFile, cert, 0o644)
	}
	return certFile, keyFile, err
}

func makeSelf(names []string) (cert, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	serial, err := newSerial()
	if err != nil {
		return nil, nil, err
	}
	now := time.Now()
	leaf := newLeaf(serial, names, now.Add(-time.Hour), now.AddDate(selfYears, 0, 0))
	der, err := x509.CreateCertificate(rand.Reader, leaf, leaf, private.Public(), private)
	if err != nil {
		return nil, nil, err
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}), err
}

// newLeaf returns the template of a server's certificate for names and addresses.
func newLeaf(serial *big.Int, names []string, from, to time.Time) *x509.Certificate {
	leaf := &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: names[0]}, NotBefore: from, NotAfter: to, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, BasicConstraintsValid: true}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			leaf.IPAddresses = append(leaf.IPAddresses, ip)
		} else {
			leaf.DNSNames = append(leaf.DNSNames, name)
		}
	}
	return leaf
}
