//go:build linux

package chattest

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"weir/chat/account"
)

// People's clients, which know nothing of chathistory: who leaves and comes back sees what was said
// meanwhile, and nothing twice.

func TestIrssi(t *testing.T) {
	people(t, "irssi", func(dir, host, port, pass string) []string {
		// or it keeps lines back for seconds
		config := `settings = { "irc/core" = { cmd_queue_speed = "1msec"; cmds_max_at_once = "100"; }; };`
		if err := os.WriteFile(dir+"/config", []byte(config), 0o600); err != nil {
			t.Error(err)
		}
		return []string{"irssi", "--home=" + dir, "-c", host, "-p", port, "-n", "alice", "-w", pass}
	})
}

func TestWeeChat(t *testing.T) {
	people(t, "weechat", func(dir, host, port, pass string) []string {
		command := []string{"weechat", "-d", dir}
		for _, c := range []string{"/set weechat.look.mouse off", "/server add here " + host + "/" + port, "/set irc.server.here.ssl off", "/set irc.server.here.tls off",
			"/set irc.server.here.nicks alice", "/set irc.server.here.password " + pass, "/connect here"} {
			command = append(command, "-r", c)
		}
		return command
	})
}

// people has somebody who uses a client join, talk, leave, come back and see what was missed.
func people(t *testing.T, name string, command func(dir, host, port, pass string) []string) {
	for _, tool := range []string{name, "tmux"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("there is no %s: scripts/setup test gets it", tool)
		}
	}
	everyProgram(t, func(t *testing.T, p *program) {
		if p.command[0] == "weir" && p.name != "loop" {
			t.Skip("these clients are run with one of the ways")
		}
		s := p.run(t)
		s.account(t, "alice", "correct-horse", account.Member)
		bob := s.crowd(t, "bob")[0]
		host, port, _ := net.SplitHostPort(s.addr)
		alice := func() *screen { return run(t, command(t.TempDir(), host, port, "alice@desk:correct-horse")) }

		a := alice()
		a.shows(", alice") // of the welcome
		a.types("/join " + crashRoom)
		bob.until(t, ":alice!")
		bob.must(t, bob.say("PRIVMSG "+crashRoom+" :hello, you"))
		a.shows("hello, you") // so this is the window for what is typed now
		a.types("hello, everybody")
		bob.until(t, "PRIVMSG "+crashRoom+" :hello, everybody")
		bob.must(t, bob.say("PRIVMSG "+crashRoom+" :hello, alice"))
		a.shows("hello, alice")
		a.types("/quit")
		bob.until(t, " QUIT ")
		bob.must(t, bob.say("PRIVMSG "+crashRoom+" :a thing she missed", "PRIVMSG "+crashRoom+" :and another"))
		_, err := bob.settled()
		bob.must(t, err)

		a = alice()
		a.shows(", alice")
		a.types("/join " + crashRoom)
		bob.until(t, ":alice!")
		bob.must(t, bob.say("PRIVMSG "+crashRoom+" :you are back"))
		text := a.shows("you are back")
		for _, missed := range []string{"a thing she missed", "and another"} {
			if n := strings.Count(text, missed); n != 1 {
				t.Errorf("alice sees %q %d times:\n%s", missed, n, text)
			}
		}
		if strings.Contains(text, "hello, ") {
			t.Errorf("alice is shown again what she saw before:\n%s", text)
		}
		a.types("/quit")
		bob.until(t, " QUIT ")
	})
}

// screen is a terminal in a tmux of its own, with a program in it.
type screen struct {
	t      *testing.T
	socket string
}

// run starts a program in a terminal that is gone with the test.
func run(t *testing.T, command []string) *screen {
	t.Helper()
	dir, err := os.MkdirTemp("", "weir-tmux") // a socket's name is short
	if err != nil {
		t.Fatal(err)
	}
	s := &screen{t: t, socket: filepath.Join(dir, "s")}
	pid := 0
	t.Cleanup(func() {
		s.tmux("kill-server")
		// a client that was told to quit writes its files first, into a folder of the test's
		gone(t, pid)
		os.RemoveAll(dir)
	})
	args := append([]string{"-f", "/dev/null", "new-session", "-d", "-x", "160", "-y", "50", "--", "env", "LC_ALL=C.UTF-8", "HOME=" + dir}, command...)
	if out, err := s.tmux(args...); err != nil {
		t.Fatalf("%s does not start: %v: %s", command[0], err, out)
	}
	if out, err := s.tmux("display-message", "-p", "#{pane_pid}"); err == nil {
		pid, _ = strconv.Atoi(strings.TrimSpace(out))
	}
	return s
}

// gone waits until a process is gone. Process 0 is none.
func gone(t *testing.T, pid int) {
	t.Helper()
	for end := time.Now().Add(patience); pid != 0 && syscall.Kill(pid, 0) == nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("process %d, a client in tmux, does not end", pid)
			return
		}
	}
}

func (s *screen) tmux(args ...string) (string, error) {
	out, err := exec.Command("tmux", append([]string{"-S", s.socket}, args...)...).CombinedOutput()
	return string(out), err
}

// types types a line.
func (s *screen) types(line string) {
	s.t.Helper()
	for _, keys := range [][]string{{"send-keys", "-l", line}, {"send-keys", "Enter"}} {
		if out, err := s.tmux(keys...); err != nil {
			s.t.Fatalf("typing %q: %v: %s", line, err, out)
		}
	}
}

// shows waits until a text is on the screen, and returns all that is.
func (s *screen) shows(text string) string {
	s.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		all, err := s.tmux("capture-pane", "-p")
		if err == nil && strings.Contains(all, text) {
			return all
		}
		if time.Now().After(end) {
			s.t.Fatalf("the screen does not show %q:\n%s", text, all)
		}
	}
}
