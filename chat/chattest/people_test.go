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

// Real clients without chathistory: a user who leaves and returns sees the missed messages, each
// once.

func TestAnIrssiUserSeesMissedMessagesOnce(t *testing.T) {
	people(t, "irssi", func(dir, host, port, pass string) []string {
		// the default delays lines for seconds
		config := `settings = { "irc/core" = { cmd_queue_speed = "1msec"; cmds_max_at_once = "100"; }; };`
		if err := os.WriteFile(dir+"/config", []byte(config), 0o600); err != nil {
			t.Error(err)
		}
		return []string{"irssi", "--home=" + dir, "-c", host, "-p", port, "-n", "alice", "-w", pass}
	})
}

func TestAWeeChatUserSeesMissedMessagesOnce(t *testing.T) {
	people(t, "weechat", func(dir, host, port, pass string) []string {
		command := []string{"weechat", "-d", dir}
		for _, c := range []string{"/set weechat.look.mouse off", "/server add here " + host + "/" + port, "/set irc.server.here.ssl off", "/set irc.server.here.tls off",
			"/set irc.server.here.nicks alice", "/set irc.server.here.password " + pass, "/connect here"} {
			command = append(command, "-r", c)
		}
		return command
	})
}

// people runs a client: a user joins, talks, leaves, returns, and sees the missed messages.
func people(t *testing.T, name string, command func(dir, host, port, pass string) []string) {
	for _, tool := range []string{name, "tmux"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed: run scripts/setup test", tool)
		}
	}
	everyProgram(t, func(t *testing.T, p *program) {
		if p.command[0] == "weir" && p.name != "loop" {
			t.Skip("real clients are tested with one concurrency model only")
		}
		s := p.run(t)
		s.account(t, "alice", "correct-horse", account.Member)
		bob := s.crowd(t, "bob")[0]
		host, port, _ := net.SplitHostPort(s.addr)
		alice := func() *screen { return run(t, command(t.TempDir(), host, port, "alice@laptop:correct-horse")) }

		a := alice()
		a.shows(", alice") // part of the welcome
		a.types("/join " + crashRoom)
		bob.until(t, ":alice!")
		bob.must(t, bob.send("PRIVMSG "+crashRoom+" :hello, you"))
		a.shows("hello, you") // from now on input goes to this window
		a.types("hello, all")
		bob.until(t, "PRIVMSG "+crashRoom+" :hello, all")
		bob.must(t, bob.send("PRIVMSG "+crashRoom+" :hello, alice"))
		a.shows("hello, alice")
		a.types("/quit")
		bob.until(t, " QUIT ")
		bob.must(t, bob.send("PRIVMSG "+crashRoom+" :a thing she missed", "PRIVMSG "+crashRoom+" :and another"))
		_, err := bob.flush()
		bob.must(t, err)

		a = alice()
		a.shows(", alice")
		a.types("/join " + crashRoom)
		bob.until(t, ":alice!")
		bob.must(t, bob.send("PRIVMSG "+crashRoom+" :you are back"))
		text := a.shows("you are back")
		for _, missed := range []string{"a thing she missed", "and another"} {
			if n := strings.Count(text, missed); n != 1 {
				t.Errorf("alice sees %q %d times, want once:\n%s", missed, n, text)
			}
		}
		if strings.Contains(text, "hello, ") {
			t.Errorf("alice returned and received messages that she had seen before, want only those she missed:\n%s", text)
		}
		a.types("/quit")
		bob.until(t, " QUIT ")
	})
}

// screen is a terminal in a separate tmux server.
type screen struct {
	t      *testing.T
	socket string
}

// run starts a program in a terminal, which is closed at the end of the test.
func run(t *testing.T, command []string) *screen {
	t.Helper()
	dir, err := os.MkdirTemp("", "weir-tmux") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	s := &screen{t: t, socket: filepath.Join(dir, "s")}
	pid := 0
	t.Cleanup(func() {
		s.tmux("kill-server")
		// After /quit the client still writes files to a folder of the test.
		gone(t, pid)
		os.RemoveAll(dir)
	})
	args := append([]string{"-f", "/dev/null", "new-session", "-d", "-x", "160", "-y", "50", "--", "env", "LC_ALL=C.UTF-8", "HOME=" + dir}, command...)
	if out, err := s.tmux(args...); err != nil {
		t.Fatalf("starting %s: %v: %s", command[0], err, out)
	}
	if out, err := s.tmux("display-message", "-p", "#{pane_pid}"); err == nil {
		pid, _ = strconv.Atoi(strings.TrimSpace(out))
	}
	return s
}

// gone waits until a process has exited; pid 0 means no process.
func gone(t *testing.T, pid int) {
	t.Helper()
	for end := time.Now().Add(waitLimit); pid != 0 && syscall.Kill(pid, 0) == nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("process %d, a client in tmux, still runs after %v, want it ended", pid, waitLimit)
			return
		}
	}
}

func (s *screen) tmux(args ...string) (string, error) {
	out, err := exec.Command("tmux", append([]string{"-S", s.socket}, args...)...).CombinedOutput()
	return string(out), err
}

// types types a line and Enter.
func (s *screen) types(line string) {
	s.t.Helper()
	for _, keys := range [][]string{{"send-keys", "-l", line}, {"send-keys", "Enter"}} {
		if out, err := s.tmux(keys...); err != nil {
			s.t.Fatalf("typing %q: %v: %s", line, err, out)
		}
	}
}

// shows waits until a text is on the screen, and returns the whole screen.
func (s *screen) shows(text string) string {
	s.t.Helper()
	for end := time.Now().Add(waitLimit); ; time.Sleep(10 * time.Millisecond) {
		all, err := s.tmux("capture-pane", "-p")
		if err == nil && strings.Contains(all, text) {
			return all
		}
		if time.Now().After(end) {
			s.t.Fatalf("after %v, want %q on the screen, got:\n%s", waitLimit, text, all)
		}
	}
}
