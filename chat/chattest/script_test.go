//go:build linux

package chattest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"weir/chat/account"
	"weir/chat/internal/pattern"
)

// A script is a conversation, in the language of the service's own scripts (chat/testdata). Its
// lines are
//
//	# a comment
//	needs WORD...                     a capability, a command in capitals, or a room's mode as +m: without it the script is skipped
//	account NAME PASSWORD [ROLE]      there is such an account
//	NAME connects                     a new client
//	NAME comes [CAP...]               and registers by this nick; what the server says to welcome it is passed over
//	NAME logs in AS PASSWORD [CAP...] the same by SASL PLAIN; AS is ACCOUNT or ACCOUNT@DEVICE
//	NAME > LINE                       says
//	NAME < PATTERN                    is told: the next line fits
//	NAME ~ PATTERN                    is told, after whatever else
//	NAME = nothing                    is told nothing more, though the server has handled all that it said
//	NAME = closed                     its connection ends
//	NAME leaves                       quits, and its connection ends
//	restart                           the server is stopped by SIGTERM, and another one is started on the same data
//
// In a pattern * stands for any text, and {NAME} for a word without space, ; and comma: the same
// one wherever NAME stands. What a server may word as it likes, its own name among it, is * in
// every pattern.
type script struct {
	t       *testing.T
	s       *server
	clients map[string]*client
	words   pattern.Words
	at      string // file and line
}

func TestConversations(t *testing.T) { everyProgram(t, conversations) }

// conversations plays all scripts.
func conversations(t *testing.T, p *program) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("there are no scripts", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			play(t, p, file)
		})
	}
}

func play(t *testing.T, p *program, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	for _, line := range lines {
		if needs, found := strings.CutPrefix(line, "needs "); found {
			p.needs(t, strings.Fields(needs)...)
		}
	}
	x := &script{t: t, s: p.run(t), clients: map[string]*client{}, words: pattern.Words{}}
	for i, line := range lines {
		x.at = fmt.Sprintf("%s:%d", file, i+1)
		x.do(line)
	}
}

func (x *script) do(line string) {
	words := strings.Fields(line)
	switch {
	case len(words) == 0 || strings.HasPrefix(line, "#") || words[0] == "needs":
	case words[0] == "account":
		x.s.account(x.t, words[1], words[2], account.Role(append(words, string(account.Member))[3]))
	case words[0] == "restart":
		if err := x.s.stop(); err != nil {
			x.t.Fatalf("%s: %v", x.at, err)
		}
		x.s.mustStart(x.t)
	case len(words) < 2:
		x.t.Fatalf("%s: %q is no step", x.at, line)
	default:
		x.step(words[0], words[1], words[2:], line)
	}
}

func (x *script) step(name, verb string, rest []string, line string) {
	c := x.clients[name]
	if c == nil && verb != "connects" && verb != "comes" && verb != "logs" {
		x.t.Fatalf("%s: %s is not there", x.at, name)
	}
	_, text, _ := strings.Cut(line, " "+verb+" ")
	switch verb {
	case "connects":
		x.clients[name] = x.s.client(x.t, name)
	case "comes":
		x.clients[name] = x.s.guest(x.t, name, rest...)
	case "logs":
		x.logIn(name, rest[1], rest[2], rest[3:])
	case ">":
		x.check(c.say(x.words.Fill(text)))
	case "<":
		x.told(c, text, false)
	case "~":
		x.told(c, text, true)
	case "leaves":
		x.check(c.say("QUIT :bye"))
		x.ends(c)
	case "=":
		x.silent(c, rest[0])
	default:
		x.t.Fatalf("%s: %q is no step", x.at, line)
	}
}

func (x *script) check(err error) {
	x.t.Helper()
	if err != nil {
		x.t.Fatalf("%s: %v", x.at, err)
	}
}

func (x *script) logIn(name, login, password string, caps []string) {
	c := x.s.client(x.t, name)
	nick, _, _ := strings.Cut(login, "@")
	x.clients[name] = c
	x.check(c.say("CAP REQ :"+strings.Join(append([]string{"sasl"}, caps...), " "), "NICK "+nick, "USER "+nick+" 0 * :"+nick, "AUTHENTICATE PLAIN"))
	c.until(x.t, "AUTHENTICATE +")
	x.check(c.say("AUTHENTICATE " + plain(login, password)))
	c.until(x.t, " 903 ")
	x.check(c.say("CAP END"))
	x.check(c.welcomed())
}

// told reads the next line that has to fit, or the first that does.
func (x *script) told(c *client, want string, skip bool) {
	x.t.Helper()
	var passed []string
	for {
		line, err := c.line()
		if err != nil {
			x.t.Fatalf("%s: %v, want %s\nbefore it:\n%s", x.at, err, want, strings.Join(passed, "\n"))
		}
		if x.words.Fits(want, line) {
			return
		}
		if passed = append(passed, line); !skip {
			x.t.Fatalf("%s: %s is told\n\t%s\nwant\n\t%s", x.at, c.name, line, want)
		}
	}
}

func (x *script) silent(c *client, what string) {
	x.t.Helper()
	if what == "closed" {
		x.ends(c)
		return
	}
	lines, err := c.settled()
	x.check(err)
	if len(lines) > 0 {
		x.t.Fatalf("%s: %s is told\n\t%s\nwant nothing", x.at, c.name, strings.Join(lines, "\n\t"))
	}
}

// ends reads to the end of a connection, before which nothing comes but ERROR and answers to what
// was said.
func (x *script) ends(c *client) {
	x.t.Helper()
	rest, err := io.ReadAll(c.r)
	if err != nil && !errors.Is(err, syscall.ECONNRESET) {
		x.t.Fatalf("%s: %s's connection does not end: %v", x.at, c.name, err)
	}
	for line := range bytes.Lines(rest) {
		if !bytes.HasPrefix(line, []byte("ERROR ")) && !bytes.Contains(line, []byte(" QUIT ")) {
			x.t.Fatalf("%s: %s is told %q, want its connection closed", x.at, c.name, line)
		}
	}
}
