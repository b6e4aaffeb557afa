package certificate_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"weir/internal/certificate"
)

func byLocal(t *testing.T, l *certificate.Local) *certificate.Source {
	t.Helper()
	s, err := certificate.ByLocal(l, t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// trusting returns the roots of a client that has imported the authority.
func trusting(t *testing.T, l *certificate.Local) *x509.CertPool {
	t.Helper()
	text, err := os.ReadFile(l.CertFile())
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		t.Fatalf("%s: got no certificate, want one in PEM", l.CertFile())
	}
	return roots
}

func TestALocalCertificateIsValidForLocalhostAndTheGivenNames(t *testing.T) {
	l := &certificate.Local{Dir: filepath.Join(t.TempDir(), "store"), Names: []string{"app.localhost", "*.app.test", "192.168.0.10", "fd00::1"}}
	c := leaf(t, byLocal(t, l))
	for _, name := range []string{"localhost", "127.0.0.1", "::1", "app.localhost", "x.app.test", "192.168.0.10", "fd00::1"} {
		if _, err := c.Verify(x509.VerifyOptions{DNSName: bracketed(name), Roots: trusting(t, l)}); err != nil {
			t.Errorf("%s: got %v, want a certificate that a client with the authority trusts", name, err)
		}
	}
	if err := c.VerifyHostname("other.localhost"); err == nil {
		t.Error("other.localhost: got a valid certificate, want none: the name was not given")
	}
	if days := time.Until(c.NotAfter).Hours() / 24; days > 8 {
		t.Errorf("got a certificate for %.0f days, want a week at most", days)
	}
}

func bracketed(name string) string {
	if net.ParseIP(name) != nil {
		return "[" + name + "]"
	}
	return name
}

func TestTheLocalAuthorityIsMadeOnceAndItsKeyIsPrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "store")
	l := &certificate.Local{Dir: dir}
	first := leaf(t, byLocal(t, l))
	roots := trusting(t, l)
	again := leaf(t, byLocal(t, &certificate.Local{Dir: dir, Names: []string{"new.test"}}))
	if _, err := again.Verify(x509.VerifyOptions{DNSName: "new.test", Roots: roots}); err != nil {
		t.Errorf("after a restart with another name: got %v, want a client that trusts the authority to trust its new certificate", err)
	}
	if first.Equal(again) || first.PublicKey.(*ecdsa.PublicKey).Equal(again.PublicKey) {
		t.Error("after a restart: got the same certificate, want a new one with a new key")
	}
	info, err := os.Stat(filepath.Join(dir, ".weir-local.key"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key: got %v (%v), want mode 0600", info, err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder: got %v (%v), want mode 0700", info, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("got the files %v (%v), want the key and the certificate only", entries, err)
	}
}

// The key of the authority is worth nothing for a public name: a client that trusts the authority
// rejects what it signs.
func TestTheLocalAuthorityCannotVouchForPublicNames(t *testing.T) {
	l := &certificate.Local{Dir: t.TempDir()}
	byLocal(t, l)
	text, err := os.ReadFile(filepath.Join(l.Dir, ".weir-local.key"))
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(text)
	signer, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	text, _ = os.ReadFile(l.CertFile())
	block, _ = pem.Decode(text)
	authority, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for _, forged := range []*x509.Certificate{
		{DNSNames: []string{"bank.example.com"}}, {DNSNames: []string{"localhost", "bank.example.com"}}, {IPAddresses: []net.IP{net.IPv4(8, 8, 8, 8)}},
		{DNSNames: []string{"evil.test"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign},
	} {
		forged.SerialNumber, forged.NotBefore, forged.NotAfter = big.NewInt(2), time.Now().Add(-time.Minute), time.Now().Add(time.Hour)
		der, err := x509.CreateCertificate(rand.Reader, forged, authority, key.Public(), signer)
		if err != nil {
			t.Fatal(err)
		}
		c, _ := x509.ParseCertificate(der)
		if forged.IsCA {
			below := &x509.Certificate{SerialNumber: big.NewInt(3), DNSNames: []string{"app.test"}, NotBefore: forged.NotBefore, NotAfter: forged.NotAfter}
			if der, err = x509.CreateCertificate(rand.Reader, below, c, key.Public(), key); err != nil {
				t.Fatal(err)
			}
			middle := x509.NewCertPool()
			middle.AddCert(c)
			last, _ := x509.ParseCertificate(der)
			if _, err := last.Verify(x509.VerifyOptions{Roots: trusting(t, l), Intermediates: middle}); err == nil {
				t.Error("a certificate by an authority that the local authority has signed: got it trusted, want it rejected")
			}
			continue
		}
		if _, err := c.Verify(x509.VerifyOptions{Roots: trusting(t, l)}); err == nil {
			t.Errorf("a certificate for %v %v: got it trusted, want it rejected by the authority's name constraints", forged.DNSNames, forged.IPAddresses)
		}
	}
}

func TestOnlyLocalNamesAreSelfSigned(t *testing.T) {
	for _, name := range []string{"localhost", "a.localhost", "app.test", "*.app.test", "nas.local", "db.internal", "nas.lan", "x.home.arpa", "10.1.2.3", "172.31.0.1", "192.168.1.1", "169.254.1.1", "fe80::1", "127.0.0.2"} {
		if err := certificate.ValidateLocal(name); err != nil {
			t.Errorf("%s: got %v, want it accepted", name, err)
		}
	}
	for name, want := range map[string]string{
		"example.org": "ACME", "www.example.com": "ACME", "localhost.example.org": "ACME", "notlocalhost": "ACME", "myhost": "ACME", "8.8.8.8": "local addresses", "172.32.0.1": "local addresses",
		"2001:db8::1": "local addresses", "::": "local addresses", "0.0.0.0": "local addresses", "fe80::1%eth0": "local addresses", "": "host name", "*": "host name", "a..test": "host name",
		"-a.test": "host name", "A.test": "lower case", "a b.test": "host name", "a.*.test": "host name", "a.test.": "host name", "https://a.test": "host name", "a.test:443": "host name",
		"a\x00.test": "host name", strings.Repeat("a", 64) + ".test": "host name", strings.Repeat("a.", 130) + "test": "host name", "\u00e4.test": "host name", "::ffff:8.8.8.8": "local addresses",
	} {
		if err := certificate.ValidateLocal(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want an error with %q", name, err, want)
		}
	}
}

func TestFaultsOfTheLocalAuthoritysFilesSayWhatToDo(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(t *testing.T, key, cert string)
		want  string
	}{
		"a key that others may read": {func(t *testing.T, key, _ string) { must(t, os.Chmod(key, 0o640)) }, "chmod 600"},
		"a key that is a link": {func(t *testing.T, key, _ string) {
			must(t, os.Rename(key, key+"2"))
			must(t, os.Symlink(key+"2", key))
		}, "remove it"},
		"a key that is rubbish":         {func(t *testing.T, key, _ string) { must(t, os.WriteFile(key, []byte("x"), 0o600)) }, "not a PEM file"},
		"a certificate that is rubbish": {func(t *testing.T, _, cert string) { must(t, os.WriteFile(cert, []byte("x"), 0o600)) }, "not a PEM file"},
		"a certificate of another key":  {func(t *testing.T, key, _ string) { must(t, os.Remove(key)) }, "is not the certificate of the key"},
		"a key in place of the certificate": {func(t *testing.T, key, cert string) {
			text, _ := os.ReadFile(key)
			must(t, os.WriteFile(cert, text, 0o600))
		}, "remove it"},
		"a folder in place of the certficate": {func(t *testing.T, _, cert string) { must(t, os.Remove(cert)); must(t, os.Mkdir(cert, 0o700)) }, "directory"},
	} {
		t.Run(name, func(t *testing.T) {
			l := &certificate.Local{Dir: t.TempDir()}
			byLocal(t, l)
			key, secret := filepath.Join(l.Dir, ".weir-local.key"), ""
			if text, err := os.ReadFile(key); err == nil {
				secret = strings.Split(string(text), "\n")[1]
			}
			c.spoil(t, key, l.CertFile())
			_, err := certificate.ByLocal(l, t.Logf)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), secret) {
				t.Errorf("got %v, want an error with %q and without the key", err, c.want)
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestALostAuthorityCertificateIsMadeAgainOfTheSameKey(t *testing.T) {
	l := &certificate.Local{Dir: t.TempDir()}
	byLocal(t, l)
	old := trusting(t, l)
	must(t, os.Remove(l.CertFile()))
	if _, err := leaf(t, byLocal(t, l)).Verify(x509.VerifyOptions{Roots: old}); err != nil {
		t.Errorf("got %v, want clients to trust on: the key is the same", err)
	}
}

func TestSeveralProgramsThatStartAtOnceMakeOneAuthority(t *testing.T) {
	l := &certificate.Local{Dir: filepath.Join(t.TempDir(), "store")}
	var all [8]*certificate.Source
	var starts sync.WaitGroup
	for i := range all {
		starts.Go(func() {
			s, err := certificate.ByLocal(l, t.Logf)
			if err != nil {
				t.Error(err)
			}
			all[i] = s
		})
	}
	starts.Wait()
	if t.Failed() {
		return
	}
	for _, s := range all {
		if _, err := leaf(t, s).Verify(x509.VerifyOptions{DNSName: "localhost", Roots: trusting(t, l)}); err != nil {
			t.Errorf("got %v, want a certificate by the one authority of the folder", err)
		}
	}
}

func TestALocalCertificateIsRenewedBeforeItExpires(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := byLocal(t, &certificate.Local{Dir: dir})
		first := leaf(t, s)
		time.Sleep(3 * 24 * time.Hour)
		if !leaf(t, s).Equal(first) {
			t.Error("after 3 of 7 days: got another certificate, want the same")
		}
		time.Sleep(24 * time.Hour)
		if c := leaf(t, s); c.Equal(first) || time.Until(c.NotAfter) < 6*24*time.Hour {
			t.Errorf("after 4 of 7 days: got a certificate until %v, want a new one", c.NotAfter)
		}
		time.Sleep(11 * 365 * 24 * time.Hour)
		if _, err := certificate.ByLocal(&certificate.Local{Dir: dir}, t.Logf); err == nil || !strings.Contains(err.Error(), "has expired") {
			t.Errorf("after 11 years: got %v, want an error: the authority has expired", err)
		}
	})
}
