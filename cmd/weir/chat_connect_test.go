package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/internal/freeport"
)

// pane is a terminal of tmux's with a program in it.
type pane struct {
	t    *testing.T
	sock string
}

// newPane runs a shell command in a terminal of 80 columns and 24 rows.
func newPane(t *testing.T, command string) *pane {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed")
	}
	dir, err := os.MkdirTemp("", "pane") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	p := &pane{t, filepath.Join(dir, "s")}
	p.tmux("-u", "-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", command)
	t.Cleanup(func() {
		p.tmux("kill-server")
		os.RemoveAll(dir)
	})
	return p
}

func (p *pane) tmux(args ...string) string {
	p.t.Helper()
	cmd := exec.Command("tmux", append([]string{"-S", p.sock}, args...)...)
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "NO_COLOR=")
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.t.Errorf("tmux %q: got %v, want it to succeed: %s", args, err, out)
	}
	return string(out)
}

func (p *pane) types(text string) {
	p.t.Helper()
	p.tmux("send-keys", "-l", text)
	p.tmux("send-keys", "Enter")
}

// until waits for a screen on which something holds.
func (p *pane) until(what string, holds func(screen string) bool) {
	p.t.Helper()
	screen := ""
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if screen = p.tmux("capture-pane", "-p"); holds(screen) {
			return
		}
	}
	p.t.Fatalf("want %s on the screen within a minute, got:\n%s", what, screen)
}

func (p *pane) shows(text string) {
	p.t.Helper()
	p.until(text, func(screen string) bool { return strings.Contains(screen, text) })
}

// chatProcess is weir chat serve, as a process. The function kills it.
func chatProcess(t *testing.T, data, addr string) (kill func()) {
	t.Helper()
	cmd := exec.Command(binary(t), "chat", "serve", "--data", data, "--listen", addr)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := false
	kill = func() {
		if !done {
			done = true
			cmd.Process.Kill()
			cmd.Wait()
		}
	}
	t.Cleanup(kill)
	return kill
}

// ircUser is a bare client that has joined #garden.
type ircUser struct {
	t    *testing.T
	conn net.Conn
	r    *bufio.Reader
}

func newIRCUser(t *testing.T, addr, nick string) *ircUser {
	t.Helper()
	var conn net.Conn
	var err error
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if conn, err = net.Dial("tcp", addr); err == nil {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(2 * time.Minute))
	u := &ircUser{t, conn, bufio.NewReader(conn)}
	u.send("CAP REQ :echo-message draft/chathistory batch server-time message-tags\r\nNICK " + nick + "\r\nUSER u 0 * :u\r\nCAP END\r\nJOIN #garden")
	u.until(" 366 ")
	return u
}

func (u *ircUser) send(line string) { fmt.Fprintf(u.conn, "%s\r\n", line) }

// until returns what is said up to a line with a text in it.
func (u *ircUser) until(text string) (said string) {
	u.t.Helper()
	for {
		line, err := u.r.ReadString('\n')
		if said += line; err != nil {
			u.t.Fatalf("want a line with %q from the server, got %v after:\n%s", text, err, said)
		}
		if strings.Contains(line, text) {
			return said
		}
	}
}

// A person talks, loses the server, goes on talking, and has every message on the screen once when
// it is back.
func TestChatConnectLosesAndDoublesNothing(t *testing.T) {
	dir := t.TempDir()
	addr, err := freeport.Address("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "data")
	add := exec.Command(binary(t), "chat", "user", "add", "ann", "--data", data)
	add.Stdin = strings.NewReader("garden-gate-1\n")
	if out, err := add.CombinedOutput(); err != nil {
		t.Fatalf("weir chat user add ann: got %v, want the account to be created: %s", err, out)
	}
	write(t, filepath.Join(dir, "pw"), "garden-gate-1\n")
	kill := chatProcess(t, data, addr)
	bob := newIRCUser(t, addr, "bob")

	p := newPane(t, fmt.Sprintf("%s chat connect %s -a ann@laptop --password-fd 3 -r '#garden' 3<%s; echo it ended with $?; cat", binary(t), addr, filepath.Join(dir, "pw")))
	p.shows("2 here")
	bob.send("PRIVMSG #garden :apples \x1b]0;owned\x07")
	p.shows("bob  apples �]0;owned�")
	p.types("pears 梨")
	bob.until("PRIVMSG #garden :pears 梨")
	p.shows("ann  pears 梨")
	p.types("/reply which?")
	bob.until("PRIVMSG #garden :which?")
	p.shows("↪ bob: apples")
	p.types("/react heart")
	bob.until("+draft/react=❤")
	p.shows("❤️ ann")
	p.tmux("resize-window", "-x", "40", "-y", "16")
	p.until("40 columns", narrow)
	p.tmux("resize-window", "-x", "80", "-y", "24")
	p.shows("│")

	kill()
	p.shows("offline")
	p.types("plums")
	p.shows("…               plums")
	chatProcess(t, data, addr)
	bob = newIRCUser(t, addr, "bob")
	bob.send("PRIVMSG #garden :quinces")
	p.until("each message once", func(screen string) bool {
		for _, line := range []string{"bob  apples", "ann  pears", "ann  plums", "bob  quinces"} {
			if strings.Count(screen, line) != 1 {
				return false
			}
		}
		return strings.Contains(screen, "online")
	})
	bob.send("CHATHISTORY LATEST #garden * 100")
	said := bob.until("BATCH -")
	for _, word := range []string{":apples", ":pears", ":plums", ":quinces"} {
		if n := strings.Count(said, "PRIVMSG #garden "+word); n < 1 || n > 2 || word == ":pears" && n != 1 {
			t.Errorf("room's log: got %s %d times, want it once (twice at most if sent while the server was gone)", word, n)
		}
	}
	p.types("/quit bye")
	p.shows("it ended with 0")
}

// narrow says whether a screen shows the room alone.
func narrow(screen string) bool {
	return strings.Contains(screen, "ann  pears 梨") && !strings.Contains(screen, "│")
}

func TestChatConnectEndsWhenThePasswordIsWrong(t *testing.T) {
	addr, err := freeport.Address("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	chatProcess(t, filepath.Join(dir, "data"), addr)
	newIRCUser(t, addr, "bob")
	write(t, filepath.Join(dir, "pw"), "garden-gate-1\n")
	p := newPane(t, fmt.Sprintf("%s chat connect %s -a unknown --password-fd 3 3<%s; echo it ended with $?; cat", binary(t), addr, filepath.Join(dir, "pw")))
	p.shows("weir: the login failed: SASL authentication failed\nit ended with 1")
}

func TestChatConnectNeedsATerminal(t *testing.T) {
	out, err := exec.Command(binary(t), "chat", "connect").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "needs a terminal") {
		t.Errorf("weir chat connect without a terminal: got %v and %q, want an error that says it needs one", err, out)
	}
}

func TestChatConnectCompletesTheAddress(t *testing.T) {
	for _, c := range []struct {
		addr    string
		tls     bool
		address string
		host    string
	}{
		{"", false, "127.0.0.1:6667", "127.0.0.1"},
		{"chat.example", true, "chat.example:6697", "chat.example"},
		{"chat.example:7000", true, "chat.example:7000", "chat.example"},
		{"[::1]:7000", false, "[::1]:7000", "::1"},
		{"::1", false, "[::1]:6667", "::1"},
		{"fe80::1%eth0", false, "[fe80::1%eth0]:6667", "fe80::1%eth0"},
		{"[fe80::1%eth0]:7000", false, "[fe80::1%eth0]:7000", "fe80::1%eth0"},
		{"[::1]", false, "[::1]:6667", "::1"},
		{":7000", false, "127.0.0.1:7000", "127.0.0.1"},
		{"a:b:c", false, "", ""},
	} {
		address, host, err := (&chatConnectCmd{Addr: c.addr, chatTrust: chatTrust{TLS: c.tls}}).address()
		if address != c.address || host != c.host || (err != nil) != (c.address == "") {
			t.Errorf("%q: got address %q, host %q, error %v, want address %q, host %q, an error only without an address", c.addr, address, host, err, c.address, c.host)
		}
	}
}
