//go:build linux

package chattest

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"weir/chat/account"
	"weir/internal/freeport"
)

// waitLimit is how long a test waits for an event that must occur. No measurement depends on it.
const waitLimit = 30 * time.Second

// server is a running program, in its own process group, with a data folder.
type server struct {
	*program
	data       string
	extraFlags []string // flags after the program's own
	addr       string

	cmd    *exec.Cmd // nil while it is not running
	stderr *tail
	exited chan error // result of Wait; one value, capacity 1
}

// tail keeps the last output of a program.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	if over := len(t.text) - 8<<10; over > 0 {
		t.text = append(t.text[:0], t.text[over:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(t.text))
}

// run starts a server, which is stopped at the end of the test.
func (p *program) run(t *testing.T, more ...string) *server {
	t.Helper()
	return p.runIn(t, t.TempDir(), more...)
}

// runIn is run with a data directory.
func (p *program) runIn(t *testing.T, data string, more ...string) *server {
	t.Helper()
	s := &server{program: p, data: data, extraFlags: more}
	t.Cleanup(func() {
		if err := s.stop(); err != nil {
			t.Error(err)
		}
		if t.Failed() && s.stderr != nil {
			t.Logf("standard error of %s:\n%s", p.name, s.stderr)
		}
	})
	s.mustStart(t)
	return s
}

func (s *server) mustStart(t *testing.T) {
	t.Helper()
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
}

// start starts the server and returns when it accepts connections. If another process has taken the
// port meanwhile, it tries again.
func (s *server) start() error {
	var err error
	for range 5 {
		if err = s.try(); err == nil || !strings.Contains(strings.ToLower(err.Error()), "in use") {
			break
		}
	}
	return err
}

func (s *server) try() error {
	path, err := s.path()
	if err != nil {
		return err
	}
	if s.addr, err = freeport.Address("127.0.0.1"); err != nil {
		return err
	}
	words := append(append(append([]string{}, s.runner...), path), s.command[1:]...)
	for i, a := range words {
		words[i] = strings.NewReplacer("{data}", s.data, "{addr}", s.addr).Replace(a)
	}
	s.stderr = &tail{}
	cmd := exec.Command(words[0], append(words[1:], s.extraFlags...)...)
	cmd.Stderr = s.stderr
	// a process that it has started may hold its standard error open
	cmd.WaitDelay = waitLimit
	// in case the tests panic
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return err
	}
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	s.cmd, s.exited = cmd, exited
	return s.ready()
}

// ready waits until the server accepts a connection.
func (s *server) ready() error {
	for end := time.Now().Add(waitLimit); ; time.Sleep(2 * time.Millisecond) {
		select {
		case err := <-s.exited:
			s.cmd = nil
			return fmt.Errorf("%s exited before it accepted connections, want it to serve: %v: %s", s.name, err, s.stderr)
		default:
		}
		if conn, err := net.DialTimeout("tcp", s.addr, waitLimit); err == nil {
			conn.Close()
			return nil
		}
		if time.Now().After(end) {
			return errors.Join(fmt.Errorf("%s accepted no connection within %v: %s", s.name, waitLimit, s.stderr), s.kill())
		}
	}
}

// stop stops the server with SIGTERM, and returns an error if it does not exit cleanly.
func (s *server) stop() error {
	if s.cmd == nil {
		return nil
	}
	s.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-s.exited:
		s.cmd = nil
		if err != nil {
			return fmt.Errorf("%s after SIGTERM: got %w, want exit status 0: %s", s.name, err, s.stderr)
		}
		return s.gone()
	case <-time.After(waitLimit):
		return errors.Join(fmt.Errorf("%s still runs %v after SIGTERM, want it ended", s.name, waitLimit), s.kill())
	}
}

// kill kills all processes of the server with SIGKILL and waits until they are gone.
func (s *server) kill() error {
	if s.cmd == nil {
		return nil
	}
	syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
	<-s.exited
	s.cmd = nil
	return s.gone()
}

// gone waits until no process holds the lock of the data folder: children of a killed process exit
// a moment later.
func (s *server) gone() error {
	f, err := os.OpenFile(filepath.Join(s.data, "lock"), os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil // it exited before it created the lock
	}
	if err != nil {
		return err
	}
	defer f.Close()
	for end := time.Now().Add(waitLimit); syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			return fmt.Errorf("%s has exited, but a process still holds the lock of its data folder after %v", s.name, waitLimit)
		}
	}
	return nil
}

// account creates an account in the data folder, as weir chat user add does.
func (s *server) account(t *testing.T, name, password string, role account.Role) {
	t.Helper()
	store, err := account.Open(s.data, account.Options{Iterations: 4096})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if _, err := store.Add(name, password, role, false); err != nil {
		t.Fatal(err)
	}
}
