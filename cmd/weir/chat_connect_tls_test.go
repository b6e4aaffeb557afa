package main

import (
	"bufio"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/certificate"
	"weir/internal/certificate/certtest"
	"weir/internal/freeport"
)

// answering returns the address of a server that completes the handshake with every client by TLS.
// Without a configuration it speaks no TLS.
func answering(t *testing.T, config *tls.Config) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var server sync.WaitGroup
	server.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if config != nil {
				_ = tls.Server(c, config).Handshake()
			} else {
				_, _ = c.Write([]byte("ERROR :this is IRC\r\n"))
			}
			c.Close()
		}
	})
	t.Cleanup(func() { l.Close(); server.Wait() })
	return l.Addr().String()
}

func TestChatConnectVerifiesTheServersCertificate(t *testing.T) {
	a, dir := certtest.New(t), t.TempDir()
	certFile, keyFile := a.Files(t, dir, "chat.test")
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		t.Fatal(err)
	}
	ca := dir + "/ca.pem"
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[1]}), 0o600); err != nil {
		t.Fatal(err)
	}
	secure, clear := answering(t, &tls.Config{Certificates: []tls.Certificate{pair}}), answering(t, nil)
	print := certificate.Fingerprint(pair.Certificate[0])
	for _, c := range []struct {
		what  string
		trust chatTrust
		host  string // "chat.test" if it is left out
		addr  string
		now   time.Time
		why   string
	}{
		{what: "its authority", trust: chatTrust{CA: ca}},
		{what: "the fingerprint", trust: chatTrust{Fingerprint: print}},
		{what: "the fingerprint as openssl writes it", trust: chatTrust{Fingerprint: strings.ToUpper(print[:2] + ":" + print[2:])}},
		{what: "the fingerprint, whatever the name", trust: chatTrust{Fingerprint: print}, host: "other.test"},
		{what: "any certificate", trust: chatTrust{Insecure: true}, host: "other.test"},
		{what: "the machine's authorities", trust: chatTrust{TLS: true}, why: "the server's certificate is signed by no trusted authority; its fingerprint is " + print},
		{what: "another fingerprint", trust: chatTrust{Fingerprint: strings.Repeat("ab", 32)}, why: "has the fingerprint " + print + " instead of the given one"},
		{what: "another name", trust: chatTrust{CA: ca}, host: "other.test", why: "is for chat.test, 127.0.0.1, not for other.test"},
		{what: "in ten years", trust: chatTrust{CA: ca}, now: time.Now().AddDate(10, 0, 0), why: "it has expired"},
		{what: "a server in clear text", trust: chatTrust{TLS: true}, addr: clear, why: "does not speak TLS"},
	} {
		config, err := c.trust.tls(first(c.host, "chat.test"))
		if err != nil {
			t.Errorf("trusting %s: got error %v, want a TLS configuration", c.what, err)
			continue
		}
		if !c.now.IsZero() {
			config.Time = func() time.Time { return c.now }
		}
		conn, err := dialTLS(t.Context(), first(c.addr, secure), config)
		if err == nil {
			conn.Close()
		}
		if c.why == "" && err != nil || c.why != "" && (err == nil || !strings.Contains(err.Error(), c.why)) {
			t.Errorf("trusting %s ends with %v, want %q", c.what, err, c.why)
		}
	}
	for want, c := range map[string]chatTrust{
		"exclude each other":          {CA: ca, Insecure: true},
		"is not 64 hex digits":        {Fingerprint: "abc"},
		"contains no PEM certificate": {CA: keyFile},
	} {
		if _, err := c.tls("chat.test"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", c, err, want)
		}
	}
	if c := (chatConnectCmd{chatTrust: chatTrust{Fingerprint: print}}); !c.secure() {
		t.Error("secure with a fingerprint: got false, want true: a fingerprint implies TLS")
	}
}

// ownCertificate is a file with a certificate and its key that opens an account, which is made.
func ownCertificate(t *testing.T, data, name string) string {
	t.Helper()
	certFile, keyFile, err := certificate.Self(t.TempDir(), []string{name})
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"add", name}, {"cert", name, certificate.Fingerprint(pair.Certificate[0])}} {
		cmd := exec.Command(binary(t), append([]string{"chat", "user", "--data", data}, args...)...)
		cmd.Stdin = strings.NewReader("garden-gate-1\n")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("weir chat user %q: got %v, want it to succeed: %s", args, err, out)
		}
	}
	cert, err := os.ReadFile(certFile)
	if err != nil {
		t.Fatal(err)
	}
	key, err := os.ReadFile(keyFile)
	if err != nil {
		t.Fatal(err)
	}
	both := filepath.Join(t.TempDir(), "own.pem")
	write(t, both, string(cert)+string(key))
	return both
}

// The server creates a self-signed certificate and logs its fingerprint. A client that is given the
// fingerprint trusts the server.
func TestChatConnectTrustsTheServersOwnCertificate(t *testing.T) {
	addr, err := freeport.Address("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(t.TempDir(), "data")
	serve := exec.Command(binary(t), "chat", "serve", "--data", data, "--listen", "127.0.0.1:0", "--tls", addr, "--tls-self")
	said, err := serve.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { serve.Process.Kill(); serve.Wait() })
	lines, advice := bufio.NewScanner(said), ""
	for advice == "" && lines.Scan() {
		_, advice, _ = strings.Cut(lines.Text(), `connect="weir `)
		advice = strings.TrimSuffix(advice, `"`)
	}
	if !strings.HasPrefix(advice, "chat connect --fingerprint ") {
		t.Fatalf("connect attribute in the server's log: got %q, want a weir chat connect command with --fingerprint", advice)
	}
	newPane(t, fmt.Sprintf("%s chat connect --tls %s -n ann; echo it ended with $?; cat", binary(t), addr)).shows("it ended with 1")
	mine := ownCertificate(t, data, "ann")
	p := newPane(t, fmt.Sprintf("%s %s %s --cert %s -a ann -r '#garden'; echo it ended with $?; cat", binary(t), advice, addr, mine))
	p.shows("1 here")
	p.types("pears")
	p.shows("ann  pears")
	p.types("/quit bye")
	p.shows("it ended with 0")
}
