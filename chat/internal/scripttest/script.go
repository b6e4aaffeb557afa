// Package scripttest plays conversations with a chat server, for tests: scripts of the lines that
// clients send, and of those that they must receive.
//
// The lines of a script are
//
//	# a comment
//	needs WORD...                     a capability, a COMMAND or a room mode (+m), or else skip
//	account NAME PASSWORD [ROLE]      creates an account
//	option NAME VALUE                 sets an option of the server, before any client connects
//	NAME connects                     a new client connects
//	NAME comes [CAP...]               connects and registers by this nick, and skips the welcome
//	NAME logs in AS PASSWORD [CAP...] the same by SASL PLAIN; AS is ACCOUNT or ACCOUNT@DEVICE
//	NAME > LINE                       sends
//	NAME < PATTERN                    receives: the next line matches
//	NAME ~ PATTERN                    receives, after any other lines
//	NAME = nothing                    receives nothing more until the server is idle
//	NAME = closed                     its connection ends; only ERROR and QUIT lines precede
//	NAME leaves                       leaves, and waits for the server to notice
//	restart                           the server stops and starts on the same data
//
// In a pattern * matches any text. {NAME} matches a word without space, semicolon and comma: the
// same one at each use of NAME (package pattern).
//
// # Limitations
//
// A script ends its test at the first line that differs.
package scripttest

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"weir/chat/account"
	"weir/chat/internal/pattern"
)

// Server is a server that a script plays with. Its methods end the test if they fail.
type Server interface {
	Need(words []string) // skips the test if the server lacks one
	Account(name, password string, role account.Role)
	SetOption(name, value string)
	Start() // unless it runs
	Restart()
	Connect(name string) Client
	Register(name string, caps []string) Client
	LogIn(name, login, password string, caps []string) Client
}

// Client is a client of a script.
type Client interface {
	Send(line string) error
	Line() (string, error)           // the next line, without its end
	Sync() ([]string, error)         // the lines up to the answer to a PING
	Rest() ([]string, error)         // the lines up to the end of the connection
	Leave() (rest []string, _ error) // leaves, and returns when the server has noticed
}

// script is a conversation that is being played.
type script struct {
	t       testing.TB
	server  Server
	clients map[string]Client
	words   pattern.Words
	at      string // file and line
}

// Play plays the script of a file.
func Play(t testing.TB, file string, s Server) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	for _, line := range lines {
		if needs, found := strings.CutPrefix(line, "needs "); found {
			s.Need(strings.Fields(needs))
		}
	}
	x := &script{t: t, server: s, clients: map[string]Client{}, words: pattern.Words{}}
	for i, line := range lines {
		x.at = fmt.Sprintf("%s:%d", file, i+1)
		x.play(line)
	}
}

func (x *script) play(line string) {
	x.t.Helper()
	words := strings.Fields(line)
	switch {
	case len(words) == 0 || strings.HasPrefix(line, "#") || words[0] == "needs":
	case words[0] == "account":
		x.server.Account(words[1], words[2], account.Role(append(words, string(account.Member))[3]))
	case words[0] == "option":
		x.server.SetOption(words[1], strings.TrimSpace(strings.SplitN(line, " ", 3)[2]))
	case words[0] == "restart":
		x.server.Restart()
	case len(words) < 2:
		x.t.Fatalf("%s: got the step %q, want a client's name, a verb and its arguments", x.at, line)
	default:
		x.server.Start()
		x.step(words[0], words[1], words[2:], line)
	}
}

func (x *script) step(name, verb string, rest []string, line string) {
	x.t.Helper()
	c := x.clients[name]
	if c == nil && verb != "connects" && verb != "comes" && verb != "logs" {
		x.t.Fatalf("%s: client %s is not connected, want a step before that connects it", x.at, name)
	}
	_, text, _ := strings.Cut(line, " "+verb+" ")
	switch verb {
	case "connects":
		x.clients[name] = x.server.Connect(name)
	case "comes":
		x.clients[name] = x.server.Register(name, rest)
	case "logs":
		x.clients[name] = x.server.LogIn(name, rest[1], rest[2], rest[3:])
	case ">":
		x.check(c.Send(x.words.Fill(text)))
	case "<":
		x.receive(name, text, false)
	case "~":
		x.receive(name, text, true)
	case "leaves":
		x.checkEnd(name, c.Leave)
	case "=":
		x.expect(name, rest[0])
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

// receive reads the next line, which must match, or with skip the first line that matches.
func (x *script) receive(name, want string, skip bool) {
	x.t.Helper()
	var passed []string
	for {
		line, err := x.clients[name].Line()
		if err != nil {
			x.t.Fatalf("%s: %s: want %s: %v\nlines received before:\n%s", x.at, name, want, err, strings.Join(passed, "\n"))
		}
		if x.words.Fits(want, line) {
			return
		}
		if passed = append(passed, line); !skip {
			x.t.Fatalf("%s: %s received\n\t%s\nwant\n\t%s", x.at, name, line, want)
		}
	}
}

// expect checks that a client receives nothing more, or that its connection ends.
func (x *script) expect(name, what string) {
	x.t.Helper()
	if what == "closed" {
		x.checkEnd(name, x.clients[name].Rest)
		return
	}
	lines, err := x.clients[name].Sync()
	x.check(err)
	if len(lines) > 0 {
		x.t.Fatalf("%s: %s received\n\t%s\nwant nothing", x.at, name, strings.Join(lines, "\n\t"))
	}
}

// checkEnd checks the last lines of a connection.
func (x *script) checkEnd(name string, end func() ([]string, error)) {
	x.t.Helper()
	lines, err := end()
	x.check(err)
	for _, line := range lines {
		if !strings.HasPrefix(line, "ERROR ") && !strings.Contains(line, " QUIT ") {
			x.t.Fatalf("%s: %s received %q, want its connection closed", x.at, name, line)
		}
	}
}
