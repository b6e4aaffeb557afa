package http

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// ownCertificate makes a certificate for 127.0.0.1 that is valid around the given time.
func ownCertificate(t *testing.T, at time.Time) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "of its own"}, NotBefore: at.Add(-time.Hour), NotAfter: at.Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: keyDER}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

// TestALoadIsCheckedInItsProtocol: an unmodified server that speaks HTTP/1.1 and HTTP/2, in the
// clear and by TLS, with the lab's certificate or one of its own.
func TestALoadIsCheckedInItsProtocol(t *testing.T) {
	t.Parallel()
	program := buildHello(t)
	cert, key := ownCertificate(t, time.Now())
	clear, labs, own := []string{program, "{port}"}, []string{program, "{port}", "{cert}", "{key}"}, []string{program, "{port}", cert, key}
	const all, streams = "answer, keep-alive, connections, clients that leave, SIGTERM", "answer, keep-alive, connections, streams, clients that leave, SIGTERM"
	for _, test := range []struct {
		what string
		run  []string
		load Needs
		want string
	}{
		{"HTTP/2 with prior knowledge", clear, Needs{HTTP2: true, Streams: 30}, streams},
		{"HTTPS with the lab's certificate", labs, Needs{Encryption: Encryption{TLS: true}}, all},
		{"HTTP/2 by ALPN", labs, Needs{HTTP2: true, Streams: 30, Encryption: Encryption{TLS: true}}, streams},
		{"HTTPS with any certificate", own, Needs{Encryption: Encryption{TLS: true, Insecure: true}}, all},
		{"HTTPS with a certificate that the load trusts", own, Needs{Encryption: Encryption{TLS: true, CA: cert}}, all},
	} {
		test.load.Requests, test.load.KeepAlive, test.load.Connections = hello.Requests, true, 20
		passed, failed := outcomes(t, ordinary(t, test.run...), test.load)
		if strings.Join(passed, ", ") != test.want || failed != nil {
			t.Errorf("%s: got passed %q and failed %q, want passed %s", test.what, passed, failed, test.want)
		}
	}
}

// silent listens and accepts, but says nothing.
func silent(t *testing.T) []string {
	t.Helper()
	return []string{os.Args[0], "silent", "{addr}"}
}

// listenSilently is the server of silent.
func listenSilently(addr string) int {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return 1
	}
	for {
		if _, err := l.Accept(); err != nil {
			return 1
		}
	}
}

func TestAFaultOfTLSOrHTTP2IsOneClearError(t *testing.T) {
	t.Parallel()
	program := buildHello(t)
	cert, key := ownCertificate(t, time.Now())
	oldCert, oldKey := ownCertificate(t, time.Now().Add(-48*time.Hour))
	own := []string{program, "{port}", cert, key}
	secured := Encryption{TLS: true, CA: cert}
	for _, test := range []struct {
		what string
		run  []string
		load Needs
		want string
	}{
		{"an untrusted certificate", own, Needs{Encryption: Encryption{TLS: true}}, "answer: TLS handshake failed: the server's certificate is not trusted: give the certificate that signed it by --ca FILE, or accept any by --insecure"},
		{"a certificate for another host", own, Needs{Encryption: Encryption{TLS: true, CA: cert, ServerName: "example.org"}}, `answer: TLS handshake failed: the server's certificate is not for "example.org"`},
		{"an expired certificate", []string{program, "{port}", oldCert, oldKey}, Needs{Encryption: Encryption{TLS: true, CA: oldCert}}, "answer: TLS handshake failed: the server's certificate has expired or is not yet valid"},
		{"a server without TLS", []string{program, "{port}"}, Needs{Encryption: secured}, "answer: TLS handshake failed: the server does not speak TLS on this port"},
		{"a handshake that stalls", silent(t), Needs{Encryption: secured}, "answer: TLS handshake failed: the server did not complete the handshake in time"},
		{"no HTTP/2 by ALPN", append(own, "old"), Needs{HTTP2: true, Encryption: secured}, "answer: TLS handshake failed: the server does not have the HTTP version that ALPN asked for"},
		{"no HTTP/2 in the clear", []string{program, "{port}", "old"}, Needs{HTTP2: true}, "answer: GET /hello: expected a response by HTTP/2: "},
	} {
		test.load.Requests, test.load.KeepAlive = hello.Requests[:1], true
		_, failed := outcomes(t, ordinary(t, test.run...), test.load)
		if len(failed) == 0 || !strings.HasPrefix(failed[0], test.want) {
			t.Errorf("%s: got failed %q, want the first to start with %q", test.what, failed, test.want)
		}
	}
}
