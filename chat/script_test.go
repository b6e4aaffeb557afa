package chat

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/chat/account"
	"weir/chat/internal/pattern"
)

// A script is a conversation. Its lines are
//
//	# a comment
//	account NAME PASSWORD [ROLE]      creates an account
//	option NAME VALUE                 sets an option of the server, before any client connects
//	NAME connects                     a new client connects
//	NAME comes [CAP...]               connects and registers by this nick, and skips the welcome
//	NAME logs in AS PASSWORD [CAP...] the same by SASL PLAIN; AS is ACCOUNT or ACCOUNT@DEVICE
//	NAME > LINE                       sends
//	NAME < PATTERN                    receives: the next line matches
//	NAME ~ PATTERN                    receives, after any other lines
//	NAME = nothing                    receives nothing more until the server is idle
//	NAME = closed                     its connection ends
//	NAME leaves                       closes its connection, and waits for the server to notice
//	restart                           the server stops and starts on the same data
//
// In a pattern * matches any text. {NAME} matches a word without space, semicolon and comma: the
// same one at each use of NAME.
type script struct {
	t       *testing.T
	s       *server
	clients map[string]*client
	words   pattern.Words
	at      string // file and line
}

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
					text, err := os.ReadFile(file)
					if err != nil {
						t.Fatal(err)
					}
					x := &script{t: t, s: startServer(t, way, Options{}), clients: map[string]*client{}, words: pattern.Words{}}
					for i, line := range strings.Split(string(text), "\n") {
						x.at = fmt.Sprintf("%s:%d", file, i+1)
						x.do(line)
					}
				})
			}
		})
	}
}

func (x *script) do(line string) {
	words := strings.Fields(line)
	switch {
	case len(words) == 0 || strings.HasPrefix(line, "#"):
	case words[0] == "account":
		x.s.account(words[1], words[2], account.Role(append(words, string(account.Member))[3]))
	case words[0] == "option":
		x.option(words[1], strings.TrimSpace(strings.SplitN(line, " ", 3)[2]))
	case words[0] == "restart":
		x.s.halt()
		x.s.run()
	case len(words) < 2:
		x.t.Fatalf("%s: got the step %q, want a client's name, a verb and its arguments", x.at, line)
	default:
		x.s.run()
		x.step(words[0], words[1], words[2:], line)
	}
}

func (x *script) option(name, value string) {
	switch name {
	case "registration":
		x.s.o.Registration = account.Registration(value)
	case "motd":
		x.s.o.MOTD = value
	case "login-only":
		x.s.o.LoginOnly = true
	default:
		x.t.Fatalf("%s: got the option %s, want a known one", x.at, name)
	}
}

func (x *script) step(name, verb string, rest []string, line string) {
	c := x.clients[name]
	if c == nil && verb != "connects" && verb != "comes" && verb != "logs" {
		x.t.Fatalf("%s: client %s is not connected, want a step before that connects it", x.at, name)
	}
	_, text, _ := strings.Cut(line, " "+verb+" ")
	switch verb {
	case "connects":
		x.clients[name] = x.s.client(name)
	case "comes":
		x.clients[name] = x.s.user(name, rest...)
	case "logs":
		x.logIn(name, rest[1], rest[2], rest[3:])
	case ">":
		c.send(x.words.Fill(text))
	case "<":
		x.receive(c, text, false)
	case "~":
		x.receive(c, text, true)
	case "leaves":
		x.leave(c)
	case "=":
		x.silent(c, rest[0])
	default:
		x.t.Fatalf("%s: got the step %q, want a known verb", x.at, line)
	}
}

func (x *script) logIn(name, login, password string, caps []string) {
	c := x.s.client(name)
	nick, _, _ := strings.Cut(login, "@")
	x.clients[name] = c
	c.send("CAP REQ :"+strings.Join(append([]string{"sasl"}, caps...), " "), "NICK "+nick, "USER "+nick+" 0 * :"+nick, "AUTHENTICATE PLAIN")
	c.send("AUTHENTICATE " + plain(login, password))
	c.until(" 903 ")
	c.send("CAP END")
	c.until(" 221 " + nick)
}

// receive reads the next line, which must match, or with skip the first line that matches.
func (x *script) receive(c *client, want string, skip bool) {
	x.t.Helper()
	var passed []string
	for {
		line, ok := c.line()
		if !ok {
			x.t.Fatalf("%s: %s's connection ended, want %s\nbefore it:\n%s", x.at, c.name, want, strings.Join(passed, "\n"))
		}
		if x.words.Fits(want, line) {
			return
		}
		if passed = append(passed, line); !skip {
			x.t.Fatalf("%s: %s received\n\t%s\nwant\n\t%s", x.at, c.name, line, want)
		}
	}
}

func (x *script) silent(c *client, what string) {
	if what == "closed" {
		for {
			line, ok := c.line()
			if !ok {
				return
			}
			if !strings.HasPrefix(line, "ERROR ") {
				x.t.Fatalf("%s: %s received %q, want its connection closed", x.at, c.name, line)
			}
		}
	}
	if lines := c.sync(); len(lines) > 0 {
		x.t.Fatalf("%s: %s received\n\t%s\nwant nothing", x.at, c.name, strings.Join(lines, "\n\t"))
	}
}

// leave closes a connection and waits until the server has noticed.
func (x *script) leave(c *client) {
	before := x.s.chat.Counts().Sessions
	c.conn.Close()
	waitFor(x.t, func() bool { return x.s.chat.Counts().Sessions < before })
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
