package front

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"weir/chat"
	"weir/internal/certificate"
	"weir/internal/certificate/certtest"
	"weir/serve"
)

func TestTLSAndClearTextMeetInOneChat(t *testing.T) {
	sts := &chat.STS{Port: 6697, Duration: time.Hour}
	everyWay(t, setup{chat: chat.Options{STS: sts}}, func(t *testing.T, s *server) {
		alice, bob := s.secure(t, ""), s.clear(t)
		for c, want := range map[*client]string{alice: " sts=duration=3600 ", bob: " sts=port=6697 "} {
			c.send("CAP LS 302")
			if line := c.until(" LS "); !strings.Contains(line, want) {
				t.Errorf("CAP LS: got %q, want%s", line, want)
			}
			c.send("CAP END")
		}
		alice.register("alice")
		bob.register("bob")
		for _, c := range []*client{alice, bob} {
			c.send("JOIN #room")
			c.until(" 366 ")
		}
		alice.until(":bob!")
		long := strings.Repeat("x", 400)
		for range 20 {
			alice.send("PRIVMSG #room :from TLS " + long)
			bob.until("from TLS " + long)
			bob.send("PRIVMSG #room :from clear text " + long)
			alice.until("from clear text " + long)
		}
		bob.send("WHOIS alice")
		bob.until(" 671 ")
		alice.send("WHOIS bob")
		if line := alice.until("bob"); strings.Contains(line, " 671 ") {
			t.Errorf("WHOIS of a client in clear text: got %s, want no 671", line)
		}
		alice.send("QUIT :bye")
		bob.until("QUIT :Quit: bye")
	})
}

func TestTLSUnderAnEventLoopIsRejected(t *testing.T) {
	l := Listen(listen(t), Config{Certificate: new(certificate.Source)})
	err := serve.Run(context.Background(), serve.Loop, l, serve.Service{Open: func(serve.Conn) serve.Session { return nil }}, serve.Options{})
	if err == nil || !strings.Contains(err.Error(), "goroutine or pool") {
		t.Errorf("OnFailure received %v, want no call", err)
	}
}

// shown is the name of the certificate that a new client gets.
func (s *server) shown(t *testing.T) string {
	t.Helper()
	c := tls.Client(dial(t, s.tls), &tls.Config{InsecureSkipVerify: true})
	defer c.Close()
	if err := c.Handshake(); err != nil {
		t.Fatal(err)
	}
	return c.ConnectionState().PeerCertificates[0].DNSNames[0]
}

func TestACertificateIsReplacedUnderConnections(t *testing.T) {
	s := start(t, setup{})
	alice := s.secure(t, "")
	alice.register("alice")
	dir := s.cert[:strings.LastIndex(s.cert, "/")]
	s.authority.Files(t, dir, "told.test")
	if err := s.source.Reload(); err != nil || s.shown(t) != "told.test" {
		t.Errorf("after Reload: got the certificate %s, error %v; want the new one", s.shown(t), err)
	}
	s.authority.Files(t, dir, "seen.test")
	wait(t, "a changed file is noticed", func() bool { return s.shown(t) == "seen.test" })
	if err := os.Remove(s.cert); err != nil {
		t.Fatal(err)
	}
	if err := s.source.Reload(); err == nil || s.shown(t) != "seen.test" {
		t.Errorf("after Reload without a file: got the certificate %s, error %v; want the former one and an error", s.shown(t), err)
	}
	alice.send("PING :still there")
	alice.until("still there")
}

func TestTheCertificateComesByACME(t *testing.T) {
	a := certtest.New(t)
	l := listen(t)
	a.Serve(t, func() string { return l.Addr().String() })
	roots := a.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	source, err := certificate.ByACME(&certificate.ACME{Names: []string{"weir.test"}, Agreed: true, Dir: t.TempDir(), CA: a.URL + "/directory", CARoots: roots},
		l.Addr().(*net.TCPAddr), func(string, ...any) {})
	if err != nil {
		t.Fatal(err)
	}
	service, err := chat.Open(t.TempDir(), chat.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	over := make(chan error) // from Run -> here, one value
	go func() {
		door := &Door{Chat: service}
		over <- serve.Run(ctx, serve.Goroutine, Listen(l, Config{Certificate: source}), serve.Service{Open: door.Open}, serve.Options{DrainTimeout: waitLimit})
	}()
	source.Manage(ctx)
	var c *tls.Conn
	wait(t, "there is a certificate", func() bool {
		c, err = tls.Dial("tcp", l.Addr().String(), &tls.Config{RootCAs: a.Pool, ServerName: "weir.test", NextProtos: []string{"irc"}})
		return err == nil
	})
	c.SetDeadline(time.Now().Add(waitLimit))
	talk(t, c).register("alice")
	c.Close()
	stop()
	if err := <-over; err != nil {
		t.Error(err)
	}
	source.Close()
	if err := service.Close(); err != nil {
		t.Error(err)
	}
}

func TestAClientWithoutTLSReceivesAnError(t *testing.T) {
	s := start(t, setup{})
	c := talk(t, dial(t, s.tls))
	c.send("NICK alice", "USER a 0 * :A")
	c.until("this port requires TLS")
}

func TestOldVersionsOfTLSAreRejected(t *testing.T) {
	s := start(t, setup{})
	config := s.config()
	config.MinVersion, config.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	if err := tls.Client(dial(t, s.tls), config).Handshake(); err == nil {
		t.Error("TLS 1.1: got a handshake, want an error")
	}
	config.MaxVersion = tls.VersionTLS12
	if err := tls.Client(dial(t, s.tls), config).Handshake(); err != nil {
		t.Errorf("TLS 1.2: got %v, want a handshake", err)
	}
}

func TestAHandshakeHasATimeLimit(t *testing.T) {
	s := start(t, setup{tls: Config{HandshakeTimeout: 50 * time.Millisecond}})
	c := talk(t, dial(t, s.tls))
	c.conn.Write([]byte("\x16\x03\x01"))
	c.ended()
	wait(t, "it is reported", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.failed) == 1
	})
}

func TestThousandsOfStalledHandshakesKeepNoClientOut(t *testing.T) {
	s := start(t, setup{tls: Config{HandshakeTimeout: 400 * time.Millisecond, MaxHandshakes: 256}})
	for range 2000 {
		dial(t, s.tls)
	}
	wait(t, "a client comes in", func() bool { // in time: this machine may be slow
		c := tls.Client(dial(t, s.tls), s.config())
		defer c.Close()
		if _, err := io.WriteString(c, "NICK alice\r\nUSER a 0 * :A\r\n"); err != nil {
			return false
		}
		line, err := bufio.NewReader(c).ReadString('\n')
		return err == nil && strings.Contains(line, " 001 alice ")
	})
}

// far is a listener whose clients seem to come from another machine.
type far struct{ net.Listener }

type farConn struct{ net.Conn }

func (f far) Accept() (net.Conn, error) {
	c, err := f.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return farConn{c}, nil
}

func (farConn) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 1} }

func TestHandshakesOfAnAddressAreLimited(t *testing.T) {
	inner, failed := listen(t), make(chan error, 10) // from handshakes -> here, at most a few
	l := Listen(far{inner}, Config{Certificate: new(certificate.Source), MaxPerAddress: 2, OnFailure: func(_ net.Addr, err error) { failed <- err }})
	over := make(chan error) // from Accept -> here, one value
	go func() {
		_, err := l.Accept()
		over <- err
	}()
	for range 2 {
		dial(t, inner.Addr().String())
	}
	talk(t, dial(t, inner.Addr().String())).ended()
	if err := <-failed; err != errTooMany {
		t.Errorf("OnFailure received %v, want errTooMany", err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if err := <-over; err != net.ErrClosed {
		t.Errorf("Accept after Close: got %v, want net.ErrClosed", err)
	}
}
