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

// script is a conversation in the language of the service's own scripts (chat/testdata). Its lines
// are
//
//	# a comment
//	needs WORD...                     a capability, a COMMAND or a room mode (+m), or else skip
//	account NAME PASSWORD [ROLE]      creates an account
//	NAME connects                     a new client
//	NAME comes [CAP...]               registers with this nick; the welcome is discarded
//	NAME logs in AS PASSWORD [CAP...] the same with SASL PLAIN; AS is ACCOUNT or ACCOUNT@DEVICE
//	NAME > LINE                       sends a line
//	NAME < PATTERN                    the next line received must match
//	NAME ~ PATTERN                    a later line received must match
//	NAME = nothing                    no further line is received once all commands are handled
//	NAME = closed                     the connection ends
//	NAME leaves                       quits, and the connection ends
//	restart                           stops the server by SIGTERM and starts it on the same data
//
// In a pattern * matches any text, and {NAME} a word without space, semicolon or comma: the same
// word wherever NAME stands. Texts that a server may choose, such as its own name, are * in every
// pattern.
type script struct {
	t       *testing.T
	s       *server
	clients map[string]*client
	words   pattern.Words
	at      string // file and line
}

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
		x.t.Fatalf("%s: got the step %q, want a client's name, a verb and its arguments", x.at, line)
	default:
		x.step(words[0], words[1], words[2:], line)
	}
}

func (x *script) step(name, verb string, rest []string, line string) {
	c := x.clients[name]
	if c == nil && verb != "connects" && verb != "comes" && verb != "logs" {
		x.t.Fatalf("%s: %s is not connected, want a step before that connects it", x.at, name)
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
		x.check(c.send(x.words.Fill(text)))
	case "<":
		x.expect(c, text, false)
	case "~":
		x.expect(c, text, true)
	case "leaves":
		x.check(c.send("QUIT :bye"))
		x.ends(c)
	case "=":
		x.expectNothing(c, rest[0])
	default:
		x.t.Fatalf("%s: got the step %q, want a known verb", x.at, line)
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
	x.check(c.send("CAP REQ :"+strings.Join(append([]string{"sasl"}, caps...), " "), "NICK "+nick, "USER "+nick+" 0 * :"+nick, "AUTHENTICATE PLAIN"))
	c.until(x.t, "AUTHENTICATE +")
	x.check(c.send("AUTHENTICATE " + plain(login, password)))
	c.until(x.t, " 903 ")
	x.check(c.send("CAP END"))
	x.check(c.welcomed())
}

// expect reads the next line, which must match, or skips lines up to the first that matches.
func (x *script) expect(c *client, want string, skip bool) {
	x.t.Helper()
	var passed []string
	for {
		line, err := c.line()
		if err != nil {
			x.t.Fatalf("%s: want %s: %v\nlines received before:\n%s", x.at, want, err, strings.Join(passed, "\n"))
		}
		if x.words.Fits(want, line) {
			return
		}
		if passed = append(passed, line); !skip {
			x.t.Fatalf("%s: %s received\n\t%s\nwant\n\t%s", x.at, c.name, line, want)
		}
	}
}

func (x *script) expectNothing(c *client, what string) {
	x.t.Helper()
	if what == "closed" {
		x.ends(c)
		return
	}
	lines, err := c.flush()
	x.check(err)
	if len(lines) > 0 {
		x.t.Fatalf("%s: %s received\n\t%s\nwant nothing", x.at, c.name, strings.Join(lines, "\n\t"))
	}
}

// ends reads up to the end of a connection. Only ERROR and QUIT lines may precede it.
func (x *script) ends(c *client) {
	x.t.Helper()
	rest, err := io.ReadAll(c.r)
	if err != nil && !errors.Is(err, syscall.ECONNRESET) {
		x.t.Fatalf("%s: %s: got %v, want the server to close the connection", x.at, c.name, err)
	}
	for line := range bytes.Lines(rest) {
		if !bytes.HasPrefix(line, []byte("ERROR ")) && !bytes.Contains(line, []byte(" QUIT ")) {
			x.t.Fatalf("%s: %s received %q, want its connection closed", x.at, c.name, line)
		}
	}
}
