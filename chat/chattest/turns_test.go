//go:build linux

package chattest

import (
	"fmt"
	"strings"
	"testing"

	"weir/chat/account"
)

// The server in Go and that in C on the same data, in turns: each goes on where the other stopped,
// and nobody notices but by what only one of them can do.
func TestTurns(t *testing.T) {
	inGo, inC := programs()[0], programs()[len(programs())-1]
	if inGo.command[0] != "weir" || inC.command[0] != "chatd" {
		t.Skip("it takes both of our servers")
	}
	inC.there(t)
	s := inGo.run(t)
	for _, name := range []string{"ann", "bob", "eve"} {
		s.account(t, name, "correct-horse", account.Member)
	}
	x := &turns{t: t, s: s}
	x.begin()
	x.next(inC)
	x.goOn()
	x.next(inGo)
	x.comeBack()
	x.next(inC)
	ann := x.in("ann@desk")
	ann.must(t, ann.say("JOIN #village"))
	x.told(ann, "PRIVMSG #Village", "] four")
	if texts := roomTexts(t, s, "#Village"); fmt.Sprint(texts) != "[one two three four]" {
		t.Errorf("the room's log holds %q", texts)
	}
}

func (x *turns) begin() {
	t := x.t
	ann := x.in("ann@desk")
	ann.join(t, "#Village")
	ann.must(t, ann.say("MODE #Village +s", "TOPIC #Village :what is new", "PRIVMSG #Village :one", "PRIVMSG bob :psst"))
	x.quit(ann)
}

func (x *turns) goOn() {
	t := x.t
	ann := x.in("ann@desk")
	ann.must(t, ann.say("JOIN #village"))
	x.told(ann, " JOIN ", "#Village") // as who made it spelt it
	x.told(ann, " 332 ", ":what is new")
	x.told(ann, " 353 ", "@ann")
	bob := x.in("bob@desk")
	if text := x.while; !strings.Contains(text, "] psst") {
		t.Errorf("bob is not told what was said to him while another server ran, but:\n%s", text)
	}
	bob.must(t, bob.say("JOIN #village"))
	x.told(bob, "PRIVMSG #Village", "] one")
	bob.until(t, " 366 ")
	ann.until(t, "JOIN #Village")
	bob.must(t, bob.say("PRIVMSG #village :two"))
	x.told(ann, "PRIVMSG #Village", ":two")
	bob.must(t, bob.say("PRIVMSG ann :heard"))
	x.told(ann, "PRIVMSG ann", ":heard")
	ann.must(t, ann.say("TOPIC #village :even newer"))
	x.told(bob, "TOPIC #Village", ":even newer")
	x.quit(bob)
	ann.until(t, " QUIT ")
	ann.must(t, ann.say("PRIVMSG #village :three", "PRIVMSG bob :and again"))
	x.quit(ann)
	x.ban("eve")
	x.keptOut("eve")
}

func (x *turns) comeBack() {
	t := x.t
	x.keptOut("eve")
	bob := x.in("bob@desk")
	if text := x.while; !strings.Contains(text, "] and again") || strings.Contains(text, "psst") {
		t.Errorf("bob is told what he missed in his conversations, once:\n%s", text)
	}
	bob.must(t, bob.say("JOIN #village"))
	x.told(bob, " 332 ", ":even newer")
	seen := 0
	for line := ""; !strings.Contains(line, " 366 "); {
		line = x.line(bob)
		if text, is := strings.CutPrefix(line, ":ann!"); is && strings.Contains(text, "PRIVMSG") && !strings.HasSuffix(text, "] three") {
			t.Errorf("bob is shown %q, which his device was sent before", line)
		}
		if strings.Contains(line, "] three") {
			seen++
		}
	}
	if seen != 1 {
		t.Errorf("bob was shown what he missed %d times", seen)
	}
	bob.must(t, bob.say("PRIVMSG #village :four"))
	x.quit(bob)
}

// turns is one data folder, whichever server runs on it.
type turns struct {
	t     *testing.T
	s     *server
	while string // what the client that came in last was told by then
}

// next stops the server and starts another program.
func (x *turns) next(p *program) {
	x.t.Helper()
	if err := x.s.stop(); err != nil {
		x.t.Fatal(err)
	}
	x.s.program = p
	x.s.mustStart(x.t)
}

func (x *turns) line(c *client) string {
	x.t.Helper()
	line, err := c.line()
	c.must(x.t, err)
	return line
}

// in has an account's device come in.
func (x *turns) in(login string) *client {
	x.t.Helper()
	name, _, _ := strings.Cut(login, "@")
	c := x.s.client(x.t, name)
	c.must(x.t, c.say("PASS "+login+":correct-horse", "NICK "+name, "USER "+name+" 0 * :"+name))
	c.until(x.t, " 001 ")
	lines, err := c.settled()
	c.must(x.t, err)
	x.while = strings.Join(lines, "\n")
	return c
}

// told reads up to a line that has both texts.
func (x *turns) told(c *client, text, more string) {
	x.t.Helper()
	for {
		if line := c.until(x.t, text); strings.Contains(line, more) {
			return
		}
	}
}

// quit has a client leave when what it said is stored.
func (x *turns) quit(c *client) {
	x.t.Helper()
	_, err := c.settled()
	c.must(x.t, err)
	c.must(x.t, c.say("QUIT"))
	for {
		if _, err := c.line(); err != nil {
			break
		}
	}
	c.conn.Close()
}

// ban bans an account, as weir chat user ban does, while a server runs.
func (x *turns) ban(name string) {
	x.t.Helper()
	store, err := account.Open(x.s.data, account.Options{})
	if err != nil {
		x.t.Fatal(err)
	}
	defer store.Close()
	if _, err := store.Ban(account.Ban{Pattern: name, Reason: "enough of it"}); err != nil {
		x.t.Fatal(err)
	}
}

// keptOut has a banned account try to come in.
func (x *turns) keptOut(name string) {
	x.t.Helper()
	c := x.s.client(x.t, name)
	c.must(x.t, c.say("PASS "+name+":correct-horse", "NICK "+name, "USER "+name+" 0 * :"+name))
	x.told(c, " 465 ", "enough of it")
	c.conn.Close()
}
