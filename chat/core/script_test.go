package core

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"weir/chat/account"
	"weir/chat/internal/scripttest"
)

func TestTheCoreAnswersAsTheConversationsSay(t *testing.T) {
	files, err := filepath.Glob("../testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("../testdata/*.txt: got %d scripts and error %v, want one or more", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		if name == "search" { // the shell finds nothing
			continue
		}
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(orders) {
				s := startServer(t, Options{})
				s.inOrder(seed)
				scripttest.Play(t, file, scripted{s})
				s.halt()
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

func (s scripted) Connect(name string) scripttest.Client { return scriptedClient{s.client(name)} }

func (s scripted) Register(name string, caps []string) scripttest.Client {
	return scriptedClient{s.user(name, caps...)}
}

func (s scripted) LogIn(name, login, password string, caps []string) scripttest.Client {
	c := s.client(name)
	nick, _, _ := strings.Cut(login, "@")
	c.send("CAP REQ :"+strings.Join(append([]string{"sasl"}, caps...), " "), "NICK "+nick, "USER "+nick+" 0 * :"+nick, "AUTHENTICATE PLAIN", "AUTHENTICATE "+plain(login, password), "CAP END")
	c.until(" 221 " + nick)
	return scriptedClient{c}
}

// scriptedClient is a client as scripts use it. Its methods end the test if they fail.
type scriptedClient struct{ *client }

var errEnded = errors.New("the connection has ended")

func (c scriptedClient) Send(line string) error {
	if c.ended {
		return errEnded
	}
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
	c.hangUp()
	c.shell.waitFor(func() bool { return c.ended })
	return nil, nil
}
