package chat

import (
	"encoding/base64"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/chat/account"
	"weir/chat/internal/scripttest"
)

func TestTheServerAnswersAsTheConversationsSay(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("testdata/*.txt: got %d scripts and error %v, want one or more", len(files), err)
	}
	for _, way := range testWays() {
		t.Run(way.String(), func(t *testing.T) {
			for _, file := range files {
				t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
					t.Parallel()
					scripttest.Play(t, file, scripted{startServer(t, way, Options{})})
				})
			}
		})
	}
}

// scripted is a server as scripts use it.
type scripted struct{ *server }

func (s scripted) Need([]string) {} // this server has all

func (s scripted) Account(name, password string, role account.Role) {
	s.account(name, password, role)
}

func (s scripted) SetOption(name, value string) {
	switch name {
	case "registration":
		s.o.Registration = account.Registration(value)
	case "motd":
		s.o.MOTD = value
	case "login-only":
		s.o.LoginOnly = true
	default:
		s.t.Fatalf("got the option %s, want a known one", name)
	}
}

func (s scripted) Start() { s.run() }

func (s scripted) Restart() {
	s.halt()
	s.run()
}

func (s scripted) Connect(name string) scripttest.Client {
	return scriptedClient{s.client(name), s.server}
}

func (s scripted) Register(name string, caps []string) scripttest.Client {
	return scriptedClient{s.user(name, caps...), s.server}
}

func (s scripted) LogIn(name, login, password string, caps []string) scripttest.Client {
	c := s.client(name)
	nick, _, _ := strings.Cut(login, "@")
	c.send("CAP REQ :"+strings.Join(append([]string{"sasl"}, caps...), " "), "NICK "+nick, "USER "+nick+" 0 * :"+nick, "AUTHENTICATE PLAIN")
	c.send("AUTHENTICATE " + plain(login, password))
	c.until(" 903 ")
	c.send("CAP END")
	c.until(" 221 " + nick)
	return scriptedClient{c, s.server}
}

// scriptedClient is a client as scripts use it. Its methods end the test if they fail.
type scriptedClient struct {
	*client
	s *server
}

var errEnded = errors.New("the connection has ended")

func (c scriptedClient) Send(line string) error {
	c.send(line)
	return nil
}

func (c scriptedClient) Line() (string, error) {
	line, ok := c.line()
	if !ok {
		return "", errEnded
	}
	return line, nil
}

func (c scriptedClient) Sync() ([]string, error) { return c.sync(), nil }

func (c scriptedClient) Rest() (lines []string, _ error) {
	for {
		line, ok := c.line()
		if !ok {
			return lines, nil
		}
		lines = append(lines, line)
	}
}

// Leave closes the connection and waits until the server has noticed.
func (c scriptedClient) Leave() ([]string, error) {
	before := c.s.chat.Counts().Sessions
	c.conn.Close()
	waitFor(c.t, func() bool { return c.s.chat.Counts().Sessions < before })
	return nil, nil
}

// plain returns the response of SASL PLAIN.
func plain(login, password string) string {
	return base64.StdEncoding.EncodeToString([]byte("\x00" + login + "\x00" + password))
}

// waitFor waits until a condition holds.
func waitFor(t *testing.T, so func() bool) {
	t.Helper()
	for end := time.Now().Add(testTimeout); !so(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the condition that this line waits for did not hold within %v, want it to", testTimeout)
		}
	}
}
