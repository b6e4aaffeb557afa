package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"weir/chat/data"
)

// hosted is weir chat serve at work.
type hosted struct {
	*exec.Cmd
	addr  string
	lines *bufio.Scanner // of standard error
}

// hostChat starts a server on a data directory.
func hostChat(t *testing.T, dir string, args ...string) *hosted {
	t.Helper()
	h := &hosted{Cmd: exec.Command(binary(t), append([]string{"chat", "serve", "--data", dir, "--listen", "127.0.0.1:0"}, args...)...)}
	stderr, err := h.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.stop(t) })
	h.lines = bufio.NewScanner(stderr)
	h.addr = h.until(t, "msg=listening entrance=irc address=")
	return h
}

// until reads what the server says up to a line with a text, and returns what is behind that.
func (h *hosted) until(t *testing.T, text string) string {
	t.Helper()
	for h.lines.Scan() {
		if _, rest, found := strings.Cut(h.lines.Text(), text); found {
			return rest
		}
	}
	t.Fatalf("weir chat serve's log ended, want a line with %q", text)
	return ""
}

func (h *hosted) stop(t *testing.T) {
	t.Helper()
	if h.ProcessState != nil {
		return
	}
	_ = h.Process.Signal(syscall.SIGTERM)
	for h.lines.Scan() {
		t.Log(h.lines.Text())
	}
	if err := h.Wait(); err != nil {
		t.Errorf("weir chat serve after SIGTERM: got %v, want exit status 0", err)
	}
}

// talk says lines to the server and reads up to a text.
func (h *hosted) talk(t *testing.T, until string, lines ...string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", h.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	fmt.Fprint(conn, strings.Join(lines, "\r\n")+"\r\n")
	hear(t, conn, until)
	return conn
}

func hear(t *testing.T, conn net.Conn, until string) {
	t.Helper()
	for r := bufio.NewReader(conn); ; {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatalf("got %v, want a line with %q from the server", err, until)
		}
		if strings.Contains(line, until) {
			return
		}
	}
}

func TestChatRoomShowsAndChangesRooms(t *testing.T) {
	dir := t.TempDir()
	do := func(in string, args ...string) string {
		t.Helper()
		out, failed, code := chatCommand(t, dir, in, args...)
		if code != 0 {
			t.Fatalf("weir chat %q: got exit status %d, want 0: %s", args, code, failed)
		}
		return out
	}
	do("correct horse\n", "user", "add", "ann")
	h := hostChat(t, dir)
	if out := do("", "room", "list", "--json"); out != "[]\n" {
		t.Errorf("room list before the first message: got %s, want []", out)
	}
	bob := h.talk(t, ":stored", "NICK bob", "USER bob 0 * :bob", "JOIN #Garden,#old", "PRIVMSG #Garden :hello", "PRIVMSG #old :hello", "PING :stored")

	do("", "room", "topic", "#garden", "Roses")
	hear(t, bob, "TOPIC #Garden :Roses")
	fmt.Fprint(bob, "TOPIC #Garden :\x1b]0;taken over\aRoses\u009b2J\r\nMODE #Garden +b \x1b[31m!*@*\r\nPING :hostile\r\n")
	hear(t, bob, ":hostile")
	if out := do("", "room", "show", "#garden") + do("", "room", "list"); strings.ContainsAny(out, "\x1b\a\u009b") || !strings.Contains(out, "taken overRoses2J") {
		t.Errorf("room show and list: got %q, want the topic without its control characters, which a terminal would obey", out)
	}
	do("", "room", "topic", "#garden", "Roses")
	do("", "room", "op", "#garden", "Ann")
	if out := do("", "room", "show", "#garden"); !strings.Contains(out, "member           bob operator\n") || !strings.Contains(out, "retention        for ever, all") {
		t.Errorf("room show while bob is joined: want bob as operator and retention for ever, got\n%s", out)
	}
	h.stop(t)
	do("", "room", "key", "#garden", "lilac") // the files are changed

	var list []struct {
		Name, Topic, Key string
		Bytes            int64
		Newest           time.Time
		Ranks            map[string]string
	}
	if err := json.Unmarshal([]byte(do("", "room", "list", "--json")), &list); err != nil {
		t.Fatal(err)
	}
	if len(list) != 2 || list[0].Name != "#Garden" || list[0].Topic != "Roses" || list[0].Key != "lilac" || list[0].Ranks["ann"] != "o" || list[0].Bytes < 100 || list[0].Newest.IsZero() {
		t.Errorf("room list --json: got %+v, want 2 rooms, #Garden first with topic Roses, key lilac, ann as operator, bytes and a time", list)
	}
	if out := do("", "room", "list"); !strings.Contains(out, "#Garden") || !strings.Contains(out, "Roses") || !strings.Contains(out, "ann") {
		t.Errorf("room list: want #Garden with Roses and ann, got\n%s", out)
	}
	if out := do("", "room", "show", "#garden"); !strings.Contains(out, "rank of ann      operator") || !strings.Contains(out, "lilac") {
		t.Errorf("room show after the server stopped: want ann as operator and the key lilac, got\n%s", out)
	}
	do("#OLD\n", "room", "delete", "#old")
	if out := do("", "room", "list"); strings.Contains(out, "#old") {
		t.Errorf("room list after #old was deleted: want no #old, got\n%s", out)
	}
	for _, c := range []struct {
		in   string
		args []string
		want string
		code int
	}{
		{"", []string{"room", "show", "#none"}, "there is no such room: #none", 1},
		{"", []string{"room", "show", "ann,bob"}, "is a direct conversation of two accounts", 2},
		{"", []string{"room", "topic", "garden", "x"}, "is not a room name", 2},
		{"", []string{"room", "op", "#garden", "unknown"}, "there is no account \"unknown\"", 1},
		{"#gardens\n", []string{"room", "delete", "#garden"}, "nothing was deleted", 1},
	} {
		if _, failed, code := chatCommand(t, dir, c.in, c.args...); code != c.code || !strings.Contains(failed, c.want) {
			t.Errorf("weir chat %q: exit status %d, %s; want %d, %s", c.args, code, failed, c.code, c.want)
		}
	}
}

// A server reads its file again on SIGHUP, and goes on as it was when that is wrong.
// A server may delete a room while its rooms are listed.
func TestChatRoomListSkipsARoomThatIsDeletedMeanwhile(t *testing.T) {
	dir := chatVectors(t, map[string]string{"rooms/#good": "plain"})
	all, err := data.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	all = append(all, data.Room{Name: "#deleted", Path: "rooms/#deleted"})
	list, err := readRooms(t.Context(), dir, all)
	if err != nil || len(list) != 1 || list[0].Name != "#good" {
		t.Errorf("got %v and error %v, want #good alone", list, err)
	}
}

func TestChatServeReloads(t *testing.T) {
	dir := t.TempDir()
	config := dir + "/weir.toml"
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("server.motd = \"one\"\n")
	h := hostChat(t, dir, "--config", config)
	ann := h.talk(t, "- one", "NICK ann", "USER ann 0 * :ann")
	write("server.motd = \"two\"\n")
	_ = h.Process.Signal(syscall.SIGHUP)
	h.until(t, "msg=reloaded")
	fmt.Fprint(ann, "MOTD\r\n")
	hear(t, ann, "- two")
	write("server.moth = \"two\"\n")
	h.until(t, "the key server.moth is unknown")
	fmt.Fprint(ann, "MOTD\r\n")
	hear(t, ann, "- two")
}

func TestChatServeChecksItsConfiguration(t *testing.T) {
	dir := t.TempDir()
	config := dir + "/weir.toml"
	for _, c := range []struct {
		text, want string
		args       []string
		code       int
	}{
		{"data = \"chat\"\n", "the configuration is valid", nil, 0},
		{"data = \"chat\"\nlimits.rooms = 0\nlimits.replay = 1000000\n", config + ":3:1: limits.replay: 1000000 is not", nil, 2},
		{"data = \"chat\"\nlimits.replay = 1000000\n", "the configuration is valid", []string{"--replay", "10"}, 0},
		{"", "the data directory is missing", nil, 2},
	} {
		if err := os.WriteFile(config, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(binary(t), append([]string{"chat", "serve", "--check", "--config", config}, c.args...)...).CombinedOutput()
		code := 0
		if exit, ok := err.(*exec.ExitError); ok {
			code = exit.ExitCode()
		}
		if code != c.code || !strings.Contains(string(out), c.want) {
			t.Errorf("%q: exit status %d, %s; want %d, %s", c.text, code, out, c.code, c.want)
		}
	}
}

// A client that takes nothing any more holds a stop up as long as that may take; a second signal
// ends it.
func TestChatServeStopsAtOnceOnASecondSignal(t *testing.T) {
	dir := t.TempDir()
	config := dir + "/weir.toml"
	motd := strings.Repeat(strings.Repeat("x", 300)+"\n", 50)
	if err := os.WriteFile(config, []byte("drain = \"10m\"\nserver.motd = \"\"\"\n"+motd+"\"\"\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := hostChat(t, dir, "--config", config, "--flood", "0")
	slow := h.talk(t, " 376 ", "NICK slow", "USER slow 0 * :slow")
	fmt.Fprint(slow, strings.Repeat("MOTD\r\n", 4000)) // more than the kernel takes
	hear(t, slow, " 375 ")
	_ = h.Process.Signal(syscall.SIGINT)
	h.until(t, "msg=stopping")
	_ = h.Process.Signal(syscall.SIGTERM)
	for h.lines.Scan() {
		t.Log(h.lines.Text())
	}
	if _ = h.Wait(); h.ProcessState.ExitCode() != 143 {
		t.Errorf("it ends with %v, want exit status 143", h.ProcessState)
	}
}
