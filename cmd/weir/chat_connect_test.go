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

// pane is a terminal of tmux with a program in it.
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
	// the path of a socket must be short: that of t.TempDir may be too long
	dir, err := os.MkdirTemp("", "pane")
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

// until waits for a screen for which holds returns true. what describes it in the failure.
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

// shows waits until a text is on the screen.
func (p *pane) shows(text string) {
	p.t.Helper()
	p.until(fmt.Sprintf("%q", text), func(screen string) bool { return strings.Contains(screen, text) })
}

// chatProcess starts weir chat serve as a process. kill kills it and waits for its end.
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

// addAccount creates an account by the command line. password is the line that the command reads.
func addAccount(t *testing.T, data, name, password string) {
	t.Helper()
	add := exec.Command(binary(t), "chat", "user", "add", name, "--data", data)
	add.Stdin = strings.NewReader(password)
	if out, err := add.CombinedOutput(); err != nil {
		t.Fatalf("weir chat user add %s: got %v, want the account to be created: %s", name, err, out)
	}
}

// ircUser is a connection that speaks IRC line by line and has joined #garden.
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

// until returns the server's lines up to the first one with a text in it.
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
// it is back. The room's log has each message once, too.
func TestChatConnectShowsEachMessageOnceAfterAServerRestart(t *testing.T) {
	dir := t.TempDir()
	addr, err := freeport.Address("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "data")
	addAccount(t, data, "ann", "garden-gate-1\n")
	write(t, filepath.Join(dir, "pw"), "garden-gate-1\n")
	kill := chatProcess(t, data, addr)
	bob := newIRCUser(t, addr, "bob")

	p := newPane(t, fmt.Sprintf("%s chat connect %s -a ann@laptop --password-fd 3 -r '#garden' 3<%s; echo it ended with $?; cat", binary(t), addr, filepath.Join(dir, "pw")))
	p.shows("2 here")
	// control characters are shown as �, so that a message cannot control the terminal
	bob.send("PRIVMSG #garden :apples \x1b]0;owned\x07")
	p.shows("bob  apples �]0;owned�")
	p.types("pears 梨")
	bob.until("PRIVMSG #garden :pears 梨")
	p.shows("ann  pears 梨")
	// a reply shows the message that it answers
	p.types("/reply which?")
	bob.until("PRIVMSG #garden :which?")
	p.shows("↪ bob: apples")
	// a reaction is shown with its author
	p.types("/react heart")
	bob.until("+draft/react=❤")
	p.shows("❤️ ann")
	// a narrow terminal shows the room alone, a wide one also the columns beside it
	p.tmux("resize-window", "-x", "40", "-y", "16")
	p.until("the room without other columns", showsRoomOnly)
	p.tmux("resize-window", "-x", "80", "-y", "24")
	p.shows("│")

	kill()
	p.shows("offline")
	p.types("plums")
	p.shows("…               plums") // … in place of the author: not stored by the server yet
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
	history := historyLines(bob.until("BATCH -"))
	for _, word := range []string{":apples", ":pears", ":which?", ":plums", ":quinces"} {
		if n := strings.Count(history, "PRIVMSG #garden "+word); n != 1 {
			t.Errorf("room's history: got %s %d times, want it once:\n%s", word, n, history)
		}
	}
	p.types("/quit bye")
	p.shows("it ended with 0")
}

// historyLines returns the lines that belong to a batch. The others are live: bob's client got some
// messages live and gets them again as history.
func historyLines(said string) string {
	var history strings.Builder
	for line := range strings.Lines(said) {
		if tags, _, _ := strings.Cut(line, " "); strings.HasPrefix(tags, "@") && strings.Contains(tags, "batch=") {
			history.WriteString(line)
		}
	}
	return history.String()
}

// showsRoomOnly reports whether a screen shows the messages of the room and no other column.
func showsRoomOnly(screen string) bool {
	return strings.Contains(screen, "ann  pears 梨") && !strings.Contains(screen, "│")
}

// The error is the same for a wrong password and for an account that does not exist, so that a
// client cannot find out which accounts there are.
func TestChatConnectEndsWhenTheLoginIsRefused(t *testing.T) {
	addr, err := freeport.Address("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	data, passwordFile := filepath.Join(dir, "data"), filepath.Join(dir, "pw")
	addAccount(t, data, "ann", "garden-gate-1\n")
	write(t, passwordFile, "another-gate-2\n")
	chatProcess(t, data, addr)
	newIRCUser(t, addr, "bob") // waits until the server accepts connections
	for _, account := range []string{"ann", "unknown"} {
		p := newPane(t, fmt.Sprintf("%s chat connect %s -a %s --password-fd 3 3<%s; echo it ended with $?; cat", binary(t), addr, account, passwordFile))
		p.shows("weir: the login failed: SASL authentication failed\nit ended with 1")
	}
}

func TestChatConnectNeedsATerminal(t *testing.T) {
	out, err := exec.Command(binary(t), "chat", "connect").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "needs a terminal") {
		t.Errorf("weir chat connect without a terminal: got %v and %q, want an error that says it needs one", err, out)
	}
}

func TestChatConnectCompletesTheAddress(t *testing.T) {
	for _, c := range []struct {
		addr    string // the argument HOST[:PORT]
		tls     bool
		address string // to dial; "": an error
		host    string // the host alone: by TLS the certificate must be for it
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
