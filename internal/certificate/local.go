package certificate

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"weir/internal/durable"
)

// Local issues certificates for local names by an authority of this machine. The authority's key
// and certificate are made once and kept in a folder. The certificate restricts the authority to
// local names and addresses, so that a client which trusts it trusts it for nothing else.
type Local struct {
	Dir   string   // the folder of the authority's key and certificate
	Names []string // names and addresses besides localhost, 127.0.0.1 and ::1
}

// AllNames returns the names and addresses of the certificates.
func (l *Local) AllNames() []string {
	return append([]string{"localhost", "127.0.0.1", "::1"}, l.Names...)
}

// localDomains are the domains that never lead to a public server: RFC 6761, RFC 6762, RFC 8375,
// the reservation of .internal by ICANN, and .lan, which is no public domain.
var localDomains = []string{"localhost", "test", "local", "home.arpa", "internal", "lan"}

// localRanges are the addresses that no public server has.
var localRanges = []netip.Prefix{
	netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("172.16.0.0/12"), netip.MustParsePrefix("192.168.0.0/16"),
	netip.MustParsePrefix("169.254.0.0/16"), netip.MustParsePrefix("::1/128"), netip.MustParsePrefix("fc00::/7"), netip.MustParsePrefix("fe80::/10"),
}

const (
	authorityYears = 10
	// leafLife is how long a certificate of the authority is valid. It is renewed after half of it.
	leafLife = 7 * 24 * time.Hour
	// clockSkew is how much later a client's clock may be set.
	clockSkew = time.Hour
)

// CertFile returns the file of the authority's certificate, which clients import.
func (l *Local) CertFile() string { return filepath.Join(l.Dir, "weir-local.pem") }

// keyFile returns the file of the authority's key. Its dot hides it from file servers.
func (l *Local) keyFile() string { return filepath.Join(l.Dir, ".weir-local.key") }

var localLabel = regexp.MustCompile(`^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$`)

// Validate returns an error for a name that is not local.
func (l *Local) Validate() error {
	if l.Dir == "" {
		return errors.New("self-signed certificates need a folder to keep the authority's key in")
	}
	return ValidateLocal(l.Names...)
}

// ValidateLocal returns an error for a name or address that is not local.
func ValidateLocal(names ...string) error {
	for _, name := range names {
		if err := validateLocal(name); err != nil {
			return err
		}
	}
	return nil
}

func validateLocal(name string) error {
	if a, err := netip.ParseAddr(name); err == nil {
		if a.Zone() != "" || !slices.ContainsFunc(localRanges, func(p netip.Prefix) bool { return p.Contains(a) }) {
			return fmt.Errorf("a self-signed certificate is for local addresses, such as 192.168.0.10, and %s is none: get a certificate by ACME, or from files", name)
		}
		return nil
	}
	labels := strings.Split(strings.TrimPrefix(name, "*."), ".")
	if len(name) > 253 || slices.ContainsFunc(labels, func(label string) bool { return !localLabel.MatchString(label) }) {
		return fmt.Errorf("%q is not a host name in lower case: write one such as app.localhost", name)
	}
	if !slices.ContainsFunc(localDomains, func(d string) bool { return name == d || strings.HasSuffix(name, "."+d) }) {
		return fmt.Errorf("a self-signed certificate is for names below %s, and %s is none: clients of a public name trust no authority of this machine, "+
			"so get its certificate by ACME, or from files", strings.Join(localDomains, ", "), name)
	}
	return nil
}

// local is the source of a Local.
type local struct {
	authority *x509.Certificate
	signer    *ecdsa.PrivateKey
	names     []string
	logf      func(string, ...any)

	mu     sync.Mutex // guards issued
	issued *tls.Certificate
}

// ByLocal returns a source of certificates by the authority of a folder, which it makes if it does
// not exist.
func ByLocal(l *Local, logf func(format string, args ...any)) (*Source, error) {
	if err := l.Validate(); err != nil {
		return nil, err
	}
	signer, err := l.key()
	if err != nil {
		return nil, fmt.Errorf("the key of the local authority: %w", err)
	}
	authority, err := l.certificate(signer)
	if err != nil {
		return nil, fmt.Errorf("the certificate of the local authority: %w", err)
	}
	own := &local{authority: authority, signer: signer, names: l.AllNames(), logf: logf}
	if own.issued, err = own.issue(); err != nil {
		return nil, err
	}
	return &Source{local: own}, nil
}

// key reads the authority's key, or makes it.
func (l *Local) key() (*ecdsa.PrivateKey, error) {
	name := l.keyFile()
	text, err := readPrivate(name)
	if errors.Is(err, fs.ErrNotExist) {
		// another process may have made it in between
		if err := l.makeKey(); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		text, err = readPrivate(name)
	}
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("%s is not a PEM file: remove it and %s to make new ones", name, l.CertFile())
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if own, ok := key.(*ecdsa.PrivateKey); ok && err == nil {
		return own, nil
	}
	return nil, fmt.Errorf("%s has no ECDSA key: remove it and %s to make new ones", name, l.CertFile())
}

// readPrivate reads a file that only its owner may read.
func readPrivate(name string) ([]byte, error) {
	info, err := os.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s has the mode %v, so that others may have read it: remove it to make a new one, or take the permissions away with chmod 600", name, info.Mode())
	}
	return os.ReadFile(name)
}

func (l *Local) makeKey() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	if err := durable.MkdirAll(l.Dir, 0o700); err != nil {
		return err
	}
	return durable.CreateFile(l.keyFile(), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600)
}

// certificate reads the authority's certificate, or makes it.
func (l *Local) certificate(signer *ecdsa.PrivateKey) (*x509.Certificate, error) {
	name := l.CertFile()
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		if err := l.makeCertificate(signer); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		text, err = os.ReadFile(name)
	}
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("%s is not a PEM file: remove it to make a new one", name)
	}
	c, err := x509.ParseCertificate(block.Bytes)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w: remove it to make a new one", name, err)
	case !signer.PublicKey.Equal(c.PublicKey) || !c.IsCA:
		return nil, fmt.Errorf("%s is not the certificate of the key %s: remove it to make a new one", name, l.keyFile())
	case time.Now().After(c.NotAfter):
		return nil, fmt.Errorf("%s has expired on %s: remove it to make a new one, which clients must import again", name, c.NotAfter.Format(time.DateOnly))
	}
	return c, nil
}

func (l *Local) makeCertificate(signer *ecdsa.PrivateKey) error {
	serial, err := newSerial()
	if err != nil {
		return err
	}
	host, _ := os.Hostname() // only a description
	now := time.Now()
	c := &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: strings.TrimSpace("Weir local authority " + host)},
		NotBefore: now.Add(-clockSkew), NotAfter: now.AddDate(authorityYears, 0, 0), IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
		KeyUsage: x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, PermittedDNSDomainsCritical: true, PermittedDNSDomains: localDomains}
	for _, p := range localRanges {
		c.PermittedIPRanges = append(c.PermittedIPRanges, &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())})
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, signer.Public(), signer)
	if err != nil {
		return err
	}
	return durable.CreateFile(l.CertFile(), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o644)
}

// get returns a certificate that is valid for half of leafLife at least.
func (l *local) get() *tls.Certificate {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Until(l.issued.Leaf.NotAfter) > leafLife/2 {
		return l.issued
	}
	if c, err := l.issue(); err != nil {
		l.logf("the self-signed certificate cannot be renewed: %v", err)
	} else {
		l.issued = c
	}
	return l.issued
}

// issue returns a new certificate with a new key, which stays in memory.
func (l *local) issue() (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := newSerial()
	if err != nil {
		return nil, err
	}
	now := time.Now()
	leaf := newLeaf(serial, l.names, now.Add(-clockSkew), now.Add(leafLife))
	der, err := x509.CreateCertificate(rand.Reader, leaf, l.authority, key.Public(), l.signer)
	if err != nil {
		return nil, err
	}
	if leaf, err = x509.ParseCertificate(der); err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, nil
}

func newSerial() (*big.Int, error) {
	return rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
}
