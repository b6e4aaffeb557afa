//go:build linux

package chattest

import (
	"fmt"
	"strings"
	"testing"

	"weir/chat/account"
)

// The servers in Go and in C run alternately on the same data: each continues where the other
// stopped, and clients notice only features that one of them lacks.
func TestGoAndCServersAlternate(t *testing.T) {
	inGo, inC := programs()[0], programs()[len(programs())-1]
	if inGo.command[0] != "weir" || inC.command[0] != "chatd" {
		t.Skip("both servers are needed")
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
	ann.must(t, ann.send("JOIN #village"))
	x.expect(ann, "PRIVMSG #Village", "] four")
	if texts := roomTexts(t, s, "#Village"); fmt.Sprint(texts) != "[one two three four]" {
		t.Errorf("the room's log: got %q, want the four messages", texts)
	}
}

func (x *turns) begin() {
	t := x.t
	ann := x.in("ann@desk")
	ann.join(t, "#Village")
	ann.must(t, ann.send("MODE #Village +s", "TOPIC #Village :what is new", "PRIVMSG #Village :one", "PRIVMSG bob :psst"))
	x.quit(ann)
}

func (x *turns) goOn() {
	t := x.t
	ann := x.in("ann@desk")
	ann.must(t, ann.send("JOIN #village"))
	x.expect(ann, " JOIN ", "#Village") // in the spelling of the first join
	x.expect(ann, " 332 ", ":what is new")
	x.expect(ann, " 353 ", "@ann")
	bob := x.in("bob@desk")
	if text := x.welcome; !strings.Contains(text, "] psst") {
		t.Errorf("bob logs in: want the direct message that was sent while the other server ran, got\n%s", text)
	}
	bob.must(t, bob.send("JOIN #village"))
	x.expect(bob, "PRIVMSG #Village", "] one")
	bob.until(t, " 366 ")
	ann.until(t, "JOIN #Village")
	bob.must(t, bob.send("PRIVMSG #village :two"))
	x.expect(ann, "PRIVMSG #Village", ":two")
	bob.must(t, bob.send("PRIVMSG ann :heard"))
	x.expect(ann, "PRIVMSG ann", ":heard")
	ann.must(t, ann.send("TOPIC #village :even newer"))
	x.expect(bob, "TOPIC #Village", ":even newer")
	x.quit(bob)
	ann.until(t, " QUIT ")
	ann.must(t, ann.send("PRIVMSG #village :three", "PRIVMSG bob :and again"))
	x.quit(ann)
	x.ban("eve")
	x.keptOut("eve")
}

func (x *turns) comeBack() {
	t := x.t
	x.keptOut("eve")
	bob := x.in("bob@desk")
	if text := x.welcome; !strings.Contains(text, "] and again") || strings.Contains(text, "psst") {
		t.Errorf("bob logs in: want the missed direct message once and the one he had received not again, got\n%s", text)
	}
	bob.must(t, bob.send("JOIN #village"))
	x.expect(bob, " 332 ", ":even newer")
	seen := 0
	for line := ""; !strings.Contains(line, " 366 "); {
		line = x.line(bob)
		if text, is := strings.CutPrefix(line, ":ann!"); is && strings.Contains(text, "PRIVMSG") && !strings.HasSuffix(text, "] three") {
			t.Errorf("bob received %q, want only the message he missed (three)", line)
		}
		if strings.Contains(line, "] three") {
			seen++
		}
	}
	if seen != 1 {
		t.Errorf("bob received the missed message %d times, want once", seen)
	}
	bob.must(t, bob.send("PRIVMSG #village :four"))
	x.quit(bob)
}

// turns is one data folder on which different servers run.
type turns struct {
	t       *testing.T
	s       *server
	welcome string // what the last client received while it logged in
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

// in logs in a device of an account.
func (x *turns) in(login string) *client {
	x.t.Helper()
	name, _, _ := strings.Cut(login, "@")
	c := x.s.client(x.t, name)
	c.must(x.t, c.send("PASS "+login+":correct-horse", "NICK "+name, "USER "+name+" 0 * :"+name))
	c.until(x.t, " 001 ")
	lines, err := c.flush()
	c.must(x.t, err)
	x.welcome = strings.Join(lines, "\n")
	return c
}

// expect reads up to a line that contains both texts.
func (x *turns) expect(c *client, text, more string) {
	x.t.Helper()
	for {
		if line := c.until(x.t, text); strings.Contains(line, more) {
			return
		}
	}
}

// quit disconnects a client after its messages are stored.
func (x *turns) quit(c *client) {
	x.t.Helper()
	_, err := c.flush()
	c.must(x.t, err)
	c.must(x.t, c.send("QUIT"))
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

// keptOut checks that a banned account cannot log in.
func (x *turns) keptOut(name string) {
	x.t.Helper()
	c := x.s.client(x.t, name)
	c.must(x.t, c.send("PASS "+name+":correct-horse", "NICK "+name, "USER "+name+" 0 * :"+name))
	x.expect(c, " 465 ", "enough of it")
	c.conn.Close()
}
