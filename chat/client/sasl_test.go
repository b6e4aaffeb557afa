package client

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/xdg-go/scram"
)

// loggingIn connects a client up to its login.
func loggingIn(t *testing.T, c Config, mechanisms string) *script {
	t.Helper()
	c.Account = "ann"
	s := newScript(t, c)
	s.c.Connected(s.now)
	s.c.Output()
	s.says(":srv.x CAP * LS :sasl"+mechanisms, ":srv.x CAP * ACK :sasl")
	return s
}

func TestPlainIsSentOnlyIfAllowed(t *testing.T) {
	s := loggingIn(t, Config{Password: "pw", AllowPlain: true}, "=PLAIN")
	s.sends("CAP REQ sasl", "AUTHENTICATE PLAIN")
	s.says("AUTHENTICATE +")
	s.sends("AUTHENTICATE " + base64.StdEncoding.EncodeToString([]byte("\x00ann\x00pw")))
	s.says(":srv.x 900 ann ann!u@h ann :You are", ":srv.x 903 ann :Done")
	s.sends("CAP END")

	s = loggingIn(t, Config{Password: "pw"}, "=PLAIN")
	s.sends("CAP REQ sasl")
	if s.c.State() != Failed {
		t.Errorf("PLAIN on an unencrypted connection: got state %v, want failed", s.c.State())
	}
}

func TestCertificateLogsInWithoutAPassword(t *testing.T) {
	s := loggingIn(t, Config{External: true}, "=PLAIN,EXTERNAL,SCRAM-SHA-256")
	s.sends("CAP REQ sasl", "AUTHENTICATE EXTERNAL")
	s.says("AUTHENTICATE +")
	s.sends("AUTHENTICATE " + base64.StdEncoding.EncodeToString([]byte("ann")))
	s.says(":srv.x 900 ann ann!u@h ann :You are", ":srv.x 903 ann :Done")
	s.sends("CAP END")

	s = loggingIn(t, Config{External: true}, "=PLAIN")
	s.sends("CAP REQ sasl")
	if s.c.State() != Failed {
		t.Errorf("server without EXTERNAL: got state %v, want failed", s.c.State())
	}
}

// scramServer is the server's side of SCRAM.
func scramServer(t *testing.T, password string) *scram.ServerConversation {
	t.Helper()
	client, err := scram.SHA256.NewClient("ann", password, "")
	if err != nil {
		t.Fatal(err)
	}
	stored, err := client.GetStoredCredentialsWithError(scram.KeyFactors{Salt: "salt-of-16-bytes", Iters: 4096})
	if err != nil {
		t.Fatal(err)
	}
	server, err := scram.SHA256.NewServer(func(string) (scram.StoredCredentials, error) { return stored, nil })
	if err != nil {
		t.Fatal(err)
	}
	return server.NewConversation()
}

// answer returns the decoded response in the client's AUTHENTICATE.
func (s *script) answer() string {
	s.t.Helper()
	text, ok := strings.CutPrefix(strings.TrimSpace(string(s.c.Output())), "AUTHENTICATE ")
	b, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(text, "+"))
	if !ok || err != nil {
		s.t.Fatalf("got %q, want an AUTHENTICATE with base64", text)
	}
	return string(b)
}

func (s *script) challenge(text string) {
	s.says("AUTHENTICATE " + base64.StdEncoding.EncodeToString([]byte(text)))
}

func TestScramAuthenticatesBothSides(t *testing.T) {
	s := loggingIn(t, Config{Password: "pw"}, "=PLAIN,SCRAM-SHA-256")
	s.sends("CAP REQ sasl", "AUTHENTICATE SCRAM-SHA-256")
	server := scramServer(t, "pw")
	s.says("AUTHENTICATE +")
	for range 2 {
		reply, err := server.Step(s.answer())
		if err != nil {
			t.Fatal(err)
		}
		s.challenge(reply)
	}
	s.sends("AUTHENTICATE +")
	s.says(":srv.x 900 ann ann!u@h ann :You are", ":srv.x 903 ann :Done")
	s.sends("CAP END")
}

func TestScramRefusesServersThat(t *testing.T) {
	for _, c := range []struct {
		do   string
		play func(*script)
	}{
		{"let in without a proof", func(s *script) {
			s.says(":srv.x 903 ann :Done")
		}},
		{"skip the login", func(s *script) {
			s.says(":srv.x 001 ann :Welcome")
		}},
		{"want too many iterations", func(s *script) {
			nonce := s.answer()[len("n,,n=ann,r="):]
			s.challenge("r=" + nonce + "x,s=c2FsdC1vZi0xNi1ieXRlcw==,i=900000000")
		}},
		{"want too few", func(s *script) {
			nonce := s.answer()[len("n,,n=ann,r="):]
			s.challenge("r=" + nonce + "x,s=c2FsdC1vZi0xNi1ieXRlcw==,i=1")
		}},
		{"say rubbish", func(s *script) { s.says("AUTHENTICATE !!!") }},
		{"never end", func(s *script) {
			for range 100 {
				s.says("AUTHENTICATE " + strings.Repeat("A", saslChunk))
			}
		}},
		{"do not know the password", func(s *script) { s.says(":srv.x 904 ann :SASL authentication failed") }},
	} {
		s := loggingIn(t, Config{Password: "pw"}, "=SCRAM-SHA-256")
		s.c.Output()
		s.says("AUTHENTICATE +")
		if c.play(s); s.c.State() != Failed || !s.c.MustClose() || s.c.Reason() == "" {
			t.Errorf("servers that %s: got state %v, want failed", c.do, s.c.State())
		}
	}
}
