//go:build linux

package chattest

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"weir/chat/account"
	"weir/chat/internal/scripttest"
)

// Texts that a server may choose, such as its own name, are * in every pattern of the scripts.
func TestServersAnswerAsTheConversationsSay(t *testing.T) { everyProgram(t, conversations) }

// conversations runs all scripts.
func conversations(t *testing.T, p *program) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("testdata/*.txt: got %d scripts and error %v, want one or more", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			scripttest.Play(t, file, &scripted{t: t, p: p})
		})
	}
}

// scripted is a server as scripts use it.
type scripted struct {
	t *testing.T
	p *program
	s *server // nil: it has not started
}

func (x *scripted) Need(words []string) { x.p.needs(x.t, words...) }

func (x *scripted) SetOption(name, _ string) {
	x.t.Fatalf("got the option %s, want none: another server may lack it", name)
}

func (x *scripted) Account(name, password string, role account.Role) {
	x.Start()
	x.s.account(x.t, name, password, role)
}

func (x *scripted) Start() {
	if x.s == nil {
		x.s = x.p.run(x.t)
	}
}

func (x *scripted) Restart() {
	if err := x.s.stop(); err != nil {
		x.t.Fatal(err)
	}
	x.s.mustStart(x.t)
}

func (x *scripted) Connect(name string) scripttest.Client {
	return scriptedClient{x.s.client(x.t, name)}
}

func (x *scripted) Register(name string, caps []string) scripttest.Client {
	return scriptedClient{x.s.guest(x.t, name, caps...)}
}

func (x *scripted) LogIn(name, login, password string, caps []string) scripttest.Client {
	c := x.s.client(x.t, name)
	nick, _, _ := strings.Cut(login, "@")
	c.must(x.t, c.send("CAP REQ :"+strings.Join(append([]string{"sasl"}, caps...), " "), "NICK "+nick, "USER "+nick+" 0 * :"+nick, "AUTHENTICATE PLAIN"))
	c.until(x.t, "AUTHENTICATE +")
	c.must(x.t, c.send("AUTHENTICATE "+plain(login, password)))
	c.until(x.t, " 903 ")
	c.must(x.t, c.send("CAP END"))
	c.must(x.t, c.welcomed())
	return scriptedClient{c}
}

// scriptedClient is a client as scripts use it.
type scriptedClient struct{ *client }

func (c scriptedClient) Send(line string) error  { return c.send(line) }
func (c scriptedClient) Line() (string, error)   { return c.line() }
func (c scriptedClient) Sync() ([]string, error) { return c.flush() }

func (c scriptedClient) Rest() (lines []string, _ error) {
	rest, err := io.ReadAll(c.r)
	if err != nil && !errors.Is(err, syscall.ECONNRESET) {
		return nil, fmt.Errorf("%s: got %w, want the server to close the connection", c.name, err)
	}
	for line := range strings.Lines(string(rest)) {
		lines = append(lines, strings.TrimRight(line, "\r\n"))
	}
	return lines, nil
}

// Leave quits, and returns when the server has closed the connection.
func (c scriptedClient) Leave() ([]string, error) {
	if err := c.send("QUIT :bye"); err != nil {
		return nil, err
	}
	return c.Rest()
}
