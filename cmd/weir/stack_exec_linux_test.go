package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// unprivileged is the user and group of programs, where tests run as root.
const unprivileged = 65534

// execCommand returns weir stack exec, as an ordinary user, in a folder of its own.
func execCommand(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	weir := binary(t)
	if err := os.Chmod(filepath.Dir(weir), 0o755); err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(ctx, weir, append([]string{"stack", "exec"}, args...)...)
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	c.WaitDelay = 10 * time.Second
	c.Dir = userFolder(t)
	c.Env = append(os.Environ(), "HOME="+c.Dir, "PATH=/usr/sbin:/usr/bin:/sbin:/bin")
	if os.Getuid() == 0 {
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: unprivileged, Gid: unprivileged}}
	}
	return c
}

// userFolder makes a folder that programs can write to.
func userFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "weir-exec")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if os.Getuid() == 0 {
		if err := os.Chown(dir, unprivileged, unprivileged); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// statusAfter returns the exit status that Run or Wait has returned as an error.
func statusAfter(err error) int {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	if err != nil {
		return -1
	}
	return 0
}

func TestAnUnmodifiedProgramRunsOnAStack(t *testing.T) {
	port := greeter(t)
	capture := filepath.Join(userFolder(t), "program.pcapng")
	for name, args := range map[string][]string{
		"on a perfect wire": nil,
		"on a bad wire":     {"--impair", "loss=1%,delay=20ms,rate=10Mbit", "--seed", "7"},
		"with a capture":    {"--pcap", capture},
	} {
		args = append(args, "--loopback", "192.0.2.1", "--", "bash", "-c", fetch("192.0.2.1", port))
		if out, err := execCommand(t, args...).CombinedOutput(); err != nil || string(out) != greeting {
			t.Errorf("%s: got %q and %v, want the page", name, out, err)
		}
	}
	if text, err := os.ReadFile(capture); err != nil || !strings.Contains(string(text), strings.TrimSpace(greeting)) {
		t.Errorf("got a capture of %d bytes and %v, want the page in it", len(text), err)
	}
}

func TestTheProgramsStatusIsThatOfWeir(t *testing.T) {
	for script, want := range map[string]int{"exit 7": 7, "exit 0": 0, "kill -9 $$": 137} {
		out, err := execCommand(t, "sh", "-c", script).CombinedOutput()
		if got := statusAfter(err); got != want || len(out) > 0 {
			t.Errorf("%s: got status %d and %q, want %d without a word", script, got, out, want)
		}
	}
	out, err := execCommand(t, "no-such-program").CombinedOutput()
	if got := statusAfter(err); got != 127 || !strings.Contains(string(out), "no-such-program") || strings.Count(string(out), "\n") != 1 {
		t.Errorf("a program that does not exist: got status %d and %q, want 127 and one line with its name", got, out)
	}
	for _, args := range [][]string{{}, {"--"}, {"--impair", "loss=much", "true"}, {"--deny", "everything", "true"}} {
		if out, err := execCommand(t, args...).CombinedOutput(); statusAfter(err) != exitUsage {
			t.Errorf("%v: got %v and %q, want the status of a usage error", args, err, out)
		}
	}
}

func TestTheProgramsLoopbackIsItsOwn(t *testing.T) {
	port := greeter(t)
	for _, host := range []string{"127.0.0.1", "10.0.2.2"} {
		if out, err := execCommand(t, "timeout", "5", "bash", "-c", fetch(host, port)).CombinedOutput(); err == nil {
			t.Errorf("%s: got %q, want no connection to a server of this machine", host, out)
		}
	}
	if out, err := execCommand(t, "--deny", "192.0.2.0/24", "timeout", "5", "bash", "-c", fetch("192.0.2.9", port)).CombinedOutput(); err == nil {
		t.Errorf("a denied network: got %q, want no connection", out)
	}
}

func TestNamesAreThoseOfTheHostsFile(t *testing.T) {
	port := greeter(t)
	hosts := filepath.Join(userFolder(t), "hosts")
	if err := os.WriteFile(hosts, []byte("# test\n192.0.2.1 this.example www.this.example # machine\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := execCommand(t, "--loopback", "192.0.2.1", "--hosts", hosts, "bash", "-c", fetch("www.this.example", port)).CombinedOutput()
	if err != nil || string(out) != greeting {
		t.Errorf("got %q and %v, want the page", out, err)
	}
	for text, want := range map[string]string{"192.0.2.1\n": "hosts:1", "\nname 192.0.2.1\n": "hosts:2"} {
		os.WriteFile(hosts, []byte(text), 0o644) //nolint:errcheck // the command shows it
		if out, err := execCommand(t, "--hosts", hosts, "true").CombinedOutput(); err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%q: got %v and %q, want an error with the line %q", text, err, out, want)
		}
	}
}

// A server that runs on a stack is reached by a port of this machine.
func TestAServerOnAStackIsPublished(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	l.Close()
	c := execCommand(t, "-p", port+":8080", binary(t), "serve", "run", ".", "--listen", ":8080")
	if err := os.WriteFile(filepath.Join(c.Dir, "page"), []byte(greeting), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the page is served", func() bool {
		r, err := http.Get("http://127.0.0.1:" + port + "/page")
		if err != nil {
			return false
		}
		defer r.Body.Close()
		return r.StatusCode == http.StatusOK
	})
	// it is passed on, and stops the server
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil {
		t.Errorf("got %v, want the status of a server that was stopped", err)
	}
}

// Data that a program has written before its end crosses the wire.
func TestDataIsSentAfterTheEndOfTheProgram(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	received := make(chan int64, 1)
	go func() { // until the program's stream ends
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		n, _ := io.Copy(io.Discard, c)
		received <- n
	}()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	out, err := execCommand(t, "--impair", "loss=1%,delay=20ms", "--loopback", "192.0.2.1", "bash", "-c", "head -c 3000000 /dev/zero > /dev/tcp/192.0.2.1/"+port).CombinedOutput()
	if n := <-received; n != 3000000 || err != nil {
		t.Errorf("got %d bytes, %v and %q, want 3000000", n, err, out)
	}
}

// A program that must not be traced gets no sockets, since its calls could not be answered.
func TestAProgramThatMustNotBeTracedIsRefused(t *testing.T) {
	if !isInstalled("python3") || os.Getuid() != 0 {
		t.Skip("it needs python3, and root to be another user")
	}
	out, err := execCommand(t, "python3", "-c", "import ctypes, socket\nctypes.CDLL(None).prctl(4, 0)\nsocket.socket()").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "PermissionError") || !strings.Contains(string(out), "weir: python3 was refused (EACCES)") {
		t.Errorf("got %v and %q, want an error and a line that says why", err, out)
	}
}

func TestNoProcessOutlivesAKilledWeir(t *testing.T) {
	for name, end := range map[string]string{"weir": "", "the guard": "kill -9 $PPID; "} {
		c := execCommand(t, "bash", "-c", "setsid sleep 1000 & echo $! >> pids; sleep 1000 & echo $! >> pids; echo $$ >> pids; "+end+"wait")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		var pids []string
		waitFor(t, "the processes run", func() bool {
			text, _ := os.ReadFile(filepath.Join(c.Dir, "pids"))
			pids = strings.Fields(string(text))
			return len(pids) == 3
		})
		if end == "" {
			c.Process.Kill() //nolint:errcheck // Wait shows it
		}
		c.Wait() //nolint:errcheck // it was killed, or its guard was
		for _, pid := range pids {
			waitFor(t, fmt.Sprintf("%s was killed: process %s has ended", name, pid), func() bool {
				_, err := os.Stat("/proc/" + pid)
				return err != nil
			})
		}
	}
}
