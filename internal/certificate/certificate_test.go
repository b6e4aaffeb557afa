package certificate_test

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"weir/internal/certificate"
	"weir/internal/certificate/certtest"
	"weir/internal/freeport"
)

func leaf(t *testing.T, s *certificate.Source) *x509.Certificate {
	t.Helper()
	c, err := s.Get(new(tls.ClientHelloInfo))
	if err != nil {
		t.Fatal(err)
	}
	return c.Leaf
}

func TestReloadReadsFilesAtOnceAndKeepsWhatWorks(t *testing.T) {
	a, dir := certtest.New(t), t.TempDir()
	cert, key := a.Files(t, dir, "old.test")
	s, err := certificate.Files(cert, key, t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	a.Files(t, dir, "new.test")
	if err := s.Reload(); err != nil || leaf(t, s).DNSNames[0] != "new.test" {
		t.Errorf("after Reload: got a certificate for %s (%v), want new.test", leaf(t, s).DNSNames, err)
	}
	if err := os.WriteFile(cert, []byte("rubbish"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Reload(); err == nil || !strings.Contains(err.Error(), "cannot use the certificate "+cert) {
		t.Errorf("Reload of an invalid file: got %v, want an error that names the file", err)
	}
	if name := leaf(t, s).DNSNames[0]; name != "new.test" {
		t.Errorf("after a failed Reload: got a certificate for %s, want the previous one for new.test", name)
	}
}

func TestAServersOwnCertificateIsMadeOnce(t *testing.T) {
	dir := t.TempDir() + "/tls"
	var prints []string
	for range 2 {
		cert, key, err := certificate.Self(dir, []string{"chat.test", "127.0.0.1"})
		if err != nil {
			t.Fatal(err)
		}
		s, err := certificate.Files(cert, key, t.Logf)
		if err != nil {
			t.Fatal(err)
		}
		l := leaf(t, s)
		prints = append(prints, certificate.Fingerprint(l.Raw))
		for _, name := range []string{"chat.test", "127.0.0.1"} {
			if err := l.VerifyHostname(name); err != nil {
				t.Errorf("the certificate: got %v, want it valid for %s", err, name)
			}
		}
		if info, err := os.Stat(key); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the key's file: got %v (%v), want mode 0600", info, err)
		}
	}
	if prints[0] != prints[1] || len(prints[0]) != 64 {
		t.Errorf("got fingerprints %q, want the same of 64 digits twice", prints)
	}
}

// If clients reach a server by another port than 443, the source itself answers the challenge where
// port 443 leads, where no server listens.
func TestTheSourceAnswersACMEsChallengeWhereNoServerListens(t *testing.T) {
	port, err := freeport.Choose("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	at := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port}
	a := certtest.New(t)
	a.Serve(t, at.String)
	roots := a.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	s, err := certificate.ByACME(&certificate.ACME{Names: []string{"weir.test"}, Agreed: true, Dir: t.TempDir(), CA: a.URL + "/directory", CARoots: roots}, at, t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.Manage(t.Context())
	conn, _ := net.Pipe()
	hello := &tls.ClientHelloInfo{Conn: conn, ServerName: "weir.test", SupportedVersions: []uint16{tls.VersionTLS13}, SignatureSchemes: []tls.SignatureScheme{tls.ECDSAWithP256AndSHA256}}
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		c, err := s.Get(hello)
		if err == nil && c.Leaf.VerifyHostname("weir.test") == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("after 30 s: got %v, want a certificate for weir.test", err)
		}
	}
}

func TestInvalidACMEConfigIsRejected(t *testing.T) {
	for want, a := range map[string]certificate.ACME{
		"the names":   {Agreed: true, Dir: "d"},
		"needs Agree": {Names: []string{"weir.test"}, Dir: "d"},
		"needs a Dir": {Names: []string{"weir.test"}, Agreed: true},
	} {
		if _, err := certificate.ByACME(&a, &net.TCPAddr{Port: 443}, t.Logf); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", a, err, want)
		}
	}
}
