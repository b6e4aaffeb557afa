package front

import (
	"crypto/tls"
	"encoding/base64"
	"strings"
	"testing"

	"weir/internal/certificate"
)

// own is a self-signed client certificate, and its fingerprint.
func own(t *testing.T, name string) (tls.Certificate, string) {
	t.Helper()
	cert, key, err := certificate.Self(t.TempDir(), []string{name})
	if err != nil {
		t.Fatal(err)
	}
	c, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	return c, certificate.Fingerprint(c.Certificate[0])
}

// external tries to log in by the certificate of the connection, and returns the last reply.
func (c *client) external(as string) string {
	c.t.Helper()
	c.send("CAP REQ sasl", "AUTHENTICATE EXTERNAL")
	c.until("AUTHENTICATE +")
	if as = base64.StdEncoding.EncodeToString([]byte(as)); as == "" {
		as = "+"
	}
	c.send("AUTHENTICATE " + as)
	return c.until(" 90")
}

func TestACertificateLogsIn(t *testing.T) {
	s := start(t, setup{})
	hers, print := own(t, "alice")
	s.account("alice", "correct-horse", print)
	for _, as := range []string{"", "alice", "Alice@phone"} {
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			config := s.config(hers)
			config.MaxVersion = version
			c := talk(t, tls.Client(dial(t, s.tls), config))
			if said := c.external(as); !strings.Contains(said, " 900 * *!*@* alice :You are now logged in as alice") {
				t.Errorf("AUTHENTICATE EXTERNAL as %q: got %q, want 903", as, said)
			}
			c.send("NICK alice", "USER a 0 * :A", "CAP END")
			c.until(" 221 alice")
			c.send("QUIT")
			c.until("ERROR")
		}
	}
}

func TestACertificateOfAnotherAccountDoesNotLogIn(t *testing.T) {
	s := start(t, setup{})
	hers, print := own(t, "alice")
	his, _ := own(t, "alice")
	s.account("alice", "correct-horse", print)
	s.account("bob", "correct-horse")
	for what, c := range map[string]*client{"another certificate": s.secure(t, "", his), "no certificate": s.secure(t, ""), "clear text": s.clear(t)} {
		if said := c.external("alice"); !strings.Contains(said, " 904 ") {
			t.Errorf("with %s: got %q, want 904", what, said)
		}
	}
	if said := s.secure(t, "", hers).external("bob"); !strings.Contains(said, " 904 ") {
		t.Errorf("with the name of another account: got %q, want 904", said)
	}
}
