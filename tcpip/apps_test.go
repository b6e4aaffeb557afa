package tcpip

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"math/big"
	"net"
	"net/http"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"weir/tcpip/link"
)

// Programs written for the kernel's sockets run on the stack's.

func listen(t *testing.T, s *Stack, address string) net.Listener {
	t.Helper()
	l, err := s.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func certificate(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"stack.test"}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private}, pool
}

func TestHTTPRunsOnTheStack(t *testing.T) { ways(t, testHTTPRunsOnTheStack) }

func testHTTPRunsOnTheStack(t *testing.T, run Run) {
	a, b := hostsBy(t, run, link.PairConfig{})
	certificate, pool := certificate(t)
	page := bytes.Repeat([]byte("0123456789"), 100_000)
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n, _ := io.Copy(io.Discard, r.Body); r.Method == "POST" && n != int64(len(page)) {
			http.Error(w, "short", 400)
			return
		}
		w.Write(page) //nolint:errcheck // the client tells
	})
	for scheme, l := range map[string]net.Listener{"http": listen(t, b, ":80"), "https": tls.NewListener(listen(t, b, ":443"), &tls.Config{Certificates: []tls.Certificate{certificate}})} {
		server := &http.Server{Handler: handler}
		done := make(chan error, 1) // Serve's result; one
		go func() { done <- server.Serve(l) }()
		transport := &http.Transport{DialContext: a.DialContext, TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: "stack.test"}}
		client := &http.Client{Transport: transport}
		for _, method := range []string{"GET", "POST", "GET"} {
			var body io.Reader
			if method == "POST" {
				body = bytes.NewReader(page)
			}
			r, _ := http.NewRequest(method, scheme+"://10.0.0.2/", body)
			res, err := client.Do(r)
			if err != nil {
				t.Fatalf("%s %s: got error %v, want a response", scheme, method, err)
			}
			got, err := io.ReadAll(res.Body)
			res.Body.Close()
			if err != nil || !bytes.Equal(got, page) {
				t.Errorf("%s %s: got %d bytes, error %v; want the %d bytes of the page", scheme, method, len(got), err, len(page))
			}
		}
		transport.CloseIdleConnections()
		server.Close()
		<-done
	}
}

func TestSSHRunsOnTheStack(t *testing.T) { ways(t, testSSHRunsOnTheStack) }

func testSSHRunsOnTheStack(t *testing.T, run Run) {
	a, b := hostsBy(t, run, link.PairConfig{})
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	config := &ssh.ServerConfig{NoClientAuth: true}
	config.AddHostKey(signer)
	l := listen(t, b, ":22")
	done := make(chan error, 1) // the server's result; one
	go func() { done <- shout(l, config) }()
	conn := dial(t, a, "tcp", "10.0.0.2:22")
	c, channels, requests, err := ssh.NewClientConn(conn, "stack.test", &ssh.ClientConfig{User: "ann", HostKeyCallback: ssh.FixedHostKey(signer.PublicKey())})
	if err != nil {
		t.Fatal(err)
	}
	client := ssh.NewClient(c, channels, requests)
	session, err := client.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	session.Stdin = bytes.NewReader(bytes.Repeat([]byte("a"), 200_000))
	out, err := session.Output("shout")
	if err != nil || !bytes.Equal(out, bytes.Repeat([]byte("A"), 200_000)) {
		t.Errorf("the output of the command: got %d bytes, error %v; want its 200000 bytes in upper case", len(out), err)
	}
	client.Close()
	<-done
}

// shout serves one connection, whose sessions return their input in capitals.
func shout(l net.Listener, config *ssh.ServerConfig) error {
	conn, err := l.Accept()
	if err != nil {
		return err
	}
	c, channels, requests, err := ssh.NewServerConn(conn, config)
	if err != nil {
		return err
	}
	go ssh.DiscardRequests(requests)
	for n := range channels {
		channel, requests, err := n.Accept()
		if err != nil {
			return err
		}
		for r := range requests {
			if r.WantReply {
				r.Reply(true, nil) //nolint:errcheck // the client tells
			}
			if r.Type == "exec" {
				in, _ := io.ReadAll(channel)
				channel.Write(bytes.ToUpper(in))                              //nolint:errcheck // the test checks its effect
				channel.SendRequest("exit-status", false, []byte{0, 0, 0, 0}) //nolint:errcheck // the test checks its effect
				channel.Close()
			}
		}
	}
	return c.Wait()
}
