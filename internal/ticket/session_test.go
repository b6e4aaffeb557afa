package ticket

import (
	"crypto/tls"
	"net"
	"testing"

	"weir/internal/certificate/certtest"
)

// session returns a session that a server has agreed on with a client, as bytes.
func session(t testing.TB) []byte {
	t.Helper()
	certFile, keyFile := certtest.New(t).Files(t, t.TempDir(), "a.test")
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		t.Fatal(err)
	}
	var agreed []byte
	config := &tls.Config{Certificates: []tls.Certificate{pair}, WrapSession: func(_ tls.ConnectionState, s *tls.SessionState) ([]byte, error) {
		agreed, err = s.Bytes()
		return []byte("ticket"), err
	}}
	near, far := net.Pipe()
	defer near.Close()
	ended := make(chan error, 1) // from the client, one
	go func() {
		client := tls.Client(far, &tls.Config{InsecureSkipVerify: true, ClientSessionCache: tls.NewLRUClientSessionCache(1)})
		err := client.Handshake()
		_, _ = client.Read(make([]byte, 1)) // the ticket, then the end
		ended <- err
	}()
	if err := tls.Server(near, config).Handshake(); err != nil {
		t.Fatal(err)
	}
	near.Close()
	if err := <-ended; err != nil || agreed == nil {
		t.Fatalf("the handshake gave %v and a session of %d bytes", err, len(agreed))
	}
	return agreed
}

// agreed is a session for tests in virtual time.
var agreed []byte

// issue returns a ticket.
func (p *process) issue(t *testing.T) []byte {
	t.Helper()
	s, err := tls.ParseSessionState(agreed)
	if err != nil {
		t.Fatal(err)
	}
	ticket, err := p.Seal(tls.ConnectionState{}, s, binding)
	if err != nil {
		t.Fatal(err)
	}
	return ticket
}

// resumes reports whether a ticket is accepted.
func (p *process) resumes(t *testing.T, ticket, binding []byte) bool {
	t.Helper()
	s, err := p.Open(ticket, tls.ConnectionState{}, binding)
	if err != nil {
		t.Fatal(err)
	}
	return s != nil
}
