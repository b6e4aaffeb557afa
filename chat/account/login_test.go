package account

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/xdg-go/scram"
)

// open makes a Store of a new data directory with the least work for passwords, and closes it.
func open(t *testing.T, dir string, o Options) *Store {
	t.Helper()
	if o.Iterations == 0 {
		o.Iterations = minIterations
	}
	s, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: got %v, want nil", err)
		}
	})
	return s
}

func add(t *testing.T, s *Store, name, password string) *Account {
	t.Helper()
	a, err := s.Add(name, password, Member, false)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestScramMatchesTheExampleOfRFC7677 exchanges the messages of RFC 7677, section 3.
func TestScramMatchesTheExampleOfRFC7677(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "accounts", rfcAccount+"\n")
	s := open(t, dir, Options{nonce: func() string { return "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0" }})
	c := s.Scram()
	first, done, _, err := c.Step("n,,n=user,r=rOprNGfwEbeRWgbNEkqO")
	if want := "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"; first != want || done || err != nil {
		t.Fatalf("server-first-message: got %q, done %v, error %v; want %q (RFC 7677, section 3)", first, done, err, want)
	}
	final, done, login, err := c.Step("c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=")
	if want := "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="; final != want || !done || err != nil {
		t.Fatalf("server-final-message: got %q, done %v, error %v; want %q (RFC 7677, section 3)", final, done, err, want)
	}
	if login.Name != "user" || login.Device != "" {
		t.Errorf("got the login %s@%s, want user", login.Name, login.Device)
	}
}

// rfcAccount is the verifier of RFC 7677's user with the password pencil.
const rfcAccount = "user SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="

// converse holds a whole conversation of the library's client with s.
func converse(t *testing.T, s *Store, name, password, authzid string) (Login, error) {
	t.Helper()
	client, err := scram.SHA256.NewClient(name, password, authzid)
	if err != nil {
		t.Fatal(err)
	}
	talk, mine := client.NewConversation(), s.Scram()
	answer := ""
	for {
		message, err := talk.Step(answer)
		if err != nil {
			t.Fatalf("the client's SCRAM step for the answer %q: %v", answer, err)
		}
		var done bool
		var login Login
		if answer, done, login, err = mine.Step(message); err != nil {
			return Login{}, err
		}
		if done {
			if _, err := talk.Step(answer); err != nil || !talk.Valid() {
				t.Fatalf("the client checks the server signature in %q: got error %v, want it valid (RFC 5802, section 3)", answer, err)
			}
			return login, nil
		}
	}
}

func TestPlainAndScramAcceptTheSameLogins(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	add(t, s, "Alice", "correct horse")
	for _, c := range []struct {
		name, password string
		device         string
		ok             bool
	}{
		{"Alice", "correct horse", "", true},
		{"aLICE", "correct horse", "", true},
		{"alice@Phone", "correct horse", "phone", true},
		{"alice", "correct horsf", "", false},
		{"alice", "Correct horse", "", false},
		{"alice@", "correct horse", "", false},
		{"alice@a/b", "correct horse", "", false},
		{"bob", "correct horse", "", false},
		{"../alice", "correct horse", "", false},
		{"", "correct horse", "", false},
	} {
		plain, plainErr := s.Plain(c.name, c.password)
		if c.ok && (plainErr != nil || plain.Name != "Alice" || plain.Device != c.device) {
			t.Errorf("PLAIN %q: got %+v and error %v, want a login", c.name, plain, plainErr)
		}
		if !c.ok && !errors.Is(plainErr, ErrLoginFailed) {
			t.Errorf("PLAIN %q %q: got %v, want ErrLoginFailed", c.name, c.password, plainErr)
		}
		if c.name == "" {
			continue // the client has nothing to say
		}
		login, err := converse(t, s, c.name, c.password, "")
		if (err == nil) != c.ok || login != plain || err != nil && err != ErrLoginFailed {
			t.Errorf("SCRAM %q: got %+v and error %v, want the same as PLAIN: %+v and error %v", c.name, login, err, plain, plainErr)
		}
	}
}
