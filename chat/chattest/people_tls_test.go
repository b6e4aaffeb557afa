//go:build linux

package chattest

import (
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	"weir/chat/account"
	"weir/internal/certificate"
	"weir/internal/certificate/certtest"
	"weir/internal/freeport"
)

// Real clients over TLS, which verify the server's certificate and log in: WeeChat with
// SCRAM-SHA-256, irssi with a client certificate.

func TestWeeChatLogsInByTLSAndSCRAM(t *testing.T) {
	peopleByTLS(t, "weechat", func(dir, host, port, ca, _ string) []string {
		command := []string{"weechat", "-d", dir}
		for _, c := range []string{"/set weechat.look.mouse off", "/set weechat.network.gnutls_ca_user " + ca, "/server add here " + host + "/" + port,
			"/set irc.server.here.ssl on", "/set irc.server.here.tls on", "/set irc.server.here.nicks alice", "/set irc.server.here.sasl_mechanism scram-sha-256",
			"/set irc.server.here.sasl_username alice@laptop", "/set irc.server.here.sasl_password correct-horse", "/connect here"} {
			command = append(command, "-r", c)
		}
		return command
	})
}

func TestIrssiLogsInByTLSAndItsCertificate(t *testing.T) {
	peopleByTLS(t, "irssi", func(dir, _, port, ca, cert string) []string {
		config := fmt.Sprintf(`servers = ( { address = "localhost"; family = "inet"; chatnet = "here"; port = %q; use_tls = "yes"; tls_verify = "yes"; tls_cafile = %q; tls_cert = %q; autoconnect = "yes"; } );
chatnets = { here = { type = "IRC"; nick = "alice"; sasl_mechanism = "EXTERNAL"; sasl_username = "alice"; }; };
settings = { core = { real_name = "Alice"; user_name = "alice"; nick = "alice"; }; "irc/core" = { cmd_queue_speed = "1msec"; cmds_max_at_once = "100"; }; };`, port, ca, cert)
		if err := os.WriteFile(dir+"/config", []byte(config), 0o600); err != nil {
			t.Error(err)
		}
		return []string{"irssi", "--home=" + dir}
	})
}

// peopleByTLS lets a user log in over TLS and talk with a user on a clear-text connection.
func peopleByTLS(t *testing.T, name string, command func(dir, host, port, ca, cert string) []string) {
	for _, tool := range []string{name, "tmux"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed: run scripts/setup test", tool)
		}
	}
	t.Parallel()
	dir, authority := t.TempDir(), certtest.New(t)
	certFile, keyFile := authority.Files(t, dir, "localhost")
	secure, err := freeport.Address("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	p := programs()[0]
	if p.command[0] != "weir" {
		t.Skip("only the server in Go supports TLS")
	}
	s := p.run(t, "--tls", secure, "--tls-cert", certFile, "--tls-key", keyFile)
	s.account(t, "alice", "correct-horse", account.Member)
	hers := ownCertificate(t, s, "alice")
	bob := s.crowd(t, "bob")[0]

	host, port, _ := net.SplitHostPort(secure)
	a := run(t, command(t.TempDir(), host, port, authorityFile(t, authority), hers))
	a.shows(", alice!") // part of the welcome
	a.types("/join " + crashRoom)
	bob.until(t, "@alice.account JOIN ") // the host shows that she is logged in
	bob.must(t, bob.send("PRIVMSG "+crashRoom+" :hello, you"))
	a.shows("hello, you")
	a.types("hello, all")
	bob.until(t, "PRIVMSG "+crashRoom+" :hello, all")
	bob.must(t, bob.send("WHOIS alice"))
	bob.until(t, " 671 ")
	a.types("/quit")
	bob.until(t, " QUIT ")
	a.ends()
}

// ends waits until the program has exited and written its files.
func (s *screen) ends() {
	s.t.Helper()
	for end := time.Now().Add(waitLimit); ; time.Sleep(10 * time.Millisecond) {
		if _, err := s.tmux("has-session"); err != nil {
			return
		}
		if time.Now().After(end) {
			s.t.Fatalf("the program in tmux still runs after %v, want it ended", waitLimit)
		}
	}
}

// authorityFile writes the certificate of the authority to a file and returns its path.
func authorityFile(t *testing.T, a *certtest.Authority) string {
	t.Helper()
	return writeFile(t, "ca.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.Certificate.Raw}))
}

// ownCertificate returns the path of a file with a client certificate and its key, which is
// registered for an account.
func ownCertificate(t *testing.T, s *server, name string) string {
	t.Helper()
	certFile, keyFile, err := certificate.Self(t.TempDir(), []string{name})
	if err != nil {
		t.Fatal(err)
	}
	both, err := os.ReadFile(certFile)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(both)
	key, err := os.ReadFile(keyFile)
	if err != nil {
		t.Fatal(err)
	}
	store, err := account.Open(s.data, account.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if err := store.AddCert(name, certificate.Fingerprint(block.Bytes)); err != nil {
		t.Fatal(err)
	}
	return writeFile(t, "own.pem", append(both, key...))
}

func writeFile(t *testing.T, name string, text []byte) string {
	t.Helper()
	path := t.TempDir() + "/" + name
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
