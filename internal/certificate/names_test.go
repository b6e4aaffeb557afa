package certificate_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/internal/certificate"
)

// made is a certificate in files.
type made struct {
	names    []string
	rsa      bool
	from, to time.Duration // validity, from now
}

// files writes the certificate, signed by itself, to a folder.
func (m made) files(t *testing.T, dir string) (cert, key string) {
	t.Helper()
	var signer crypto.Signer
	var err error
	if signer, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); m.rsa {
		signer, err = rsa.GenerateKey(rand.Reader, 2048)
	}
	must(t, err)
	to := m.to
	if to == 0 {
		to = time.Hour
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(m.from - 2*time.Hour), NotAfter: time.Now().Add(to)}
	for _, name := range m.names {
		if ip := net.ParseIP(name); ip != nil {
			c.IPAddresses = append(c.IPAddresses, ip)
		} else {
			c.DNSNames = append(c.DNSNames, name)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, signer.Public(), signer)
	must(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(signer)
	must(t, err)
	cert, key = filepath.Join(dir, "c.pem"), filepath.Join(dir, "c.key")
	must(t, os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	must(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600))
	return cert, key
}

func (m made) source(t *testing.T, logf func(string, ...any)) *certificate.Source {
	t.Helper()
	cert, key := m.files(t, t.TempDir())
	s, err := certificate.Files(cert, key, logf)
	must(t, err)
	return s
}

// shake performs a handshake, and returns the server's certificate.
func shake(t *testing.T, s *certificate.Source, client *tls.Config) (*x509.Certificate, error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	done := make(chan error, 1)
	go func() {
		c, err := l.Accept()
		if err == nil {
			defer c.Close()
			_ = c.SetDeadline(time.Now().Add(20 * time.Second))
			err = tls.Server(c, &tls.Config{GetCertificate: s.Get}).Handshake()
		}
		done <- err
	}()
	client.InsecureSkipVerify = true
	c, err := tls.DialWithDialer(&net.Dialer{Timeout: 20 * time.Second}, "tcp", l.Addr().String(), client)
	if err != nil {
		l.Close()
		<-done
		return nil, err
	}
	defer c.Close()
	if err := <-done; err != nil {
		return nil, err
	}
	return c.ConnectionState().PeerCertificates[0], nil
}

func TestTheServerNameChoosesTheCertificate(t *testing.T) {
	var all []*certificate.Source
	for _, m := range []made{
		{names: []string{"default.test"}}, {names: []string{"*.a.test"}}, {names: []string{"www.a.test", "a.test"}}, {names: []string{"old.test"}, to: -time.Hour},
		{names: []string{"*.test"}}, {names: []string{"127.0.0.1"}}, {names: []string{"both.b.test"}, rsa: true}, {names: []string{"both.b.test"}},
	} {
		all = append(all, m.source(t, func(string, ...any) {}))
	}
	s := certificate.ByName(all...)
	defer s.Close()
	for _, c := range []struct{ name, want string }{
		{"default.test", "default.test"}, {"a.test", "www.a.test"}, {"www.a.test", "www.a.test"}, {"WWW.A.Test", "www.a.test"}, {"x.a.test", "*.a.test"}, {"x.y.a.test", "default.test"},
		{"old.test", "*.test"}, {"none.example", "default.test"}, {"", "127.0.0.1"}, {"both.b.test", "both.b.test"}, {"b.test.", "*.test"},
	} {
		got, err := shake(t, s, &tls.Config{ServerName: c.name, MinVersion: tls.VersionTLS12})
		if err != nil {
			t.Errorf("%q: %v", c.name, err)
			continue
		}
		if name := fmt.Sprint(got.DNSNames, got.IPAddresses); !strings.Contains(name, "["+c.want+" ") && !strings.Contains(name, "["+c.want+"]") {
			t.Errorf("a client that requests %q: got the certificate of %s, want that of %s", c.name, name, c.want)
		}
	}
}

func TestAClientGetsACertificateWhoseKeyItSupports(t *testing.T) {
	s := certificate.ByName(made{names: []string{"x.test"}}.source(t, t.Logf), made{names: []string{"x.test"}, rsa: true}.source(t, t.Logf))
	for suite, want := range map[uint16]x509.PublicKeyAlgorithm{tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256: x509.RSA, tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256: x509.ECDSA} {
		got, err := shake(t, s, &tls.Config{ServerName: "x.test", MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{suite}})
		if err != nil || got.PublicKeyAlgorithm != want {
			t.Errorf("a client of TLS 1.2 that supports only %s: got %v, %v; want a certificate with a key for %v", tls.CipherSuiteName(suite), got, err, want)
		}
	}
}

func TestOneOfSeveralCertificatesIsReadAgainWhenItsFilesChange(t *testing.T) {
	dir := t.TempDir()
	cert, key := made{names: []string{"b.test"}}.files(t, dir)
	changing, err := certificate.Files(cert, key, t.Logf)
	must(t, err)
	s := certificate.ByName(made{names: []string{"a.test"}}.source(t, t.Logf), changing)
	made{names: []string{"c.test"}}.files(t, dir)
	must(t, s.Reload())
	for name, want := range map[string]string{"c.test": "c.test", "b.test": "a.test"} {
		if got, err := shake(t, s, &tls.Config{ServerName: name}); err != nil || got.DNSNames[0] != want {
			t.Errorf("after a change of b.test's certificate to c.test, %s: got %v, %v; want that of %s", name, got, err, want)
		}
	}
	must(t, os.WriteFile(cert, []byte("rubbish"), 0o600))
	if err := s.Reload(); err == nil || !strings.Contains(err.Error(), "cannot use the certificate "+cert) {
		t.Errorf("Reload with an invalid file: got %v, want an error that names it", err)
	}
	if got, err := shake(t, s, &tls.Config{ServerName: "c.test"}); err != nil || got.DNSNames[0] != "c.test" {
		t.Errorf("after a failed reload: got %v, %v; want the previous certificate", got, err)
	}
}

func TestACertificateThatClientsRejectIsReportedOnce(t *testing.T) {
	for want, m := range map[string]made{
		"expired on ":                     {names: []string{"x.test"}, from: -4 * time.Hour, to: -time.Hour},
		"is valid from ":                  {names: []string{"x.test"}, from: 10 * time.Hour, to: 20 * time.Hour},
		"has no subject alternative name": {},
		"":                                {names: []string{"x.test"}},
	} {
		var lines []string
		s := m.source(t, func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) })
		leaf(t, s)
		if want == "" && len(lines) > 0 || want != "" && (len(lines) != 1 || !strings.Contains(lines[0], want)) {
			t.Errorf("got the lines %q, want one with %q", lines, want)
		}
		cert, key := m.files(t, t.TempDir())
		if problem, err := certificate.CheckFiles(cert, key); err != nil || !strings.Contains(problem, want) || (problem == "") != (want == "") {
			t.Errorf("CheckFiles: got %q, %v; want %q", problem, err, want)
		}
	}
}

func TestFilesThatCannotBeUsedAreNamed(t *testing.T) {
	cert, key := made{names: []string{"a.test"}}.files(t, t.TempDir())
	_, other := made{names: []string{"b.test"}}.files(t, t.TempDir())
	for name, c := range map[string]struct{ cert, key, want string }{
		"a key of another certificate": {cert, other, "private key does not match public key"},
		"no certificate":               {cert + "x", key, "no such file"},
		"no key":                       {cert, key + "x", "no such file"},
		"a key as certificate":         {key, key, "did find a private key"},
		"a certificate as key":         {cert, cert, "found a certificate rather than a key"},
	} {
		_, err := certificate.CheckFiles(c.cert, c.key)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "cannot use the certificate "+c.cert+" with the key "+c.key) {
			t.Errorf("%s: got %v, want an error with both files and %q", name, err, c.want)
		}
	}
}
