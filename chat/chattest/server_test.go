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

// patience is how long a test waits for what has to come. Nothing is measured by it.
const patience = 30 * time.Second

// server is a running program, in a group of processes of its own, on a data folder.
type server struct {
	*program
	data string
	more []string // flags, behind the program's own
	addr string

	cmd    *exec.Cmd // nil while it does not run
	said   *tail
	exited chan error // from the goroutine that waits -> stop and kill, one value
}

// tail keeps what a server said last.
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

// run starts a server that ends with the test.
func (p *program) run(t *testing.T, more ...string) *server {
	t.Helper()
	s := &server{program: p, data: t.TempDir(), more: more}
	t.Cleanup(func() {
		if err := s.stop(); err != nil {
			t.Error(err)
		}
		if t.Failed() && s.said != nil {
			t.Logf("%s said:\n%s", p.name, s.said)
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

// start starts the server and returns when it takes connections. A port that somebody else took
// meanwhile is no fault of it.
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
	s.said = &tail{}
	cmd := exec.Command(words[0], append(words[1:], s.more...)...)
	cmd.Stderr = s.said
	// if something that it started holds its standard error open
	cmd.WaitDelay = patience
	// when the tests panic
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return err
	}
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	s.cmd, s.exited = cmd, exited
	return s.ready()
}

// ready waits until the server takes a connection.
func (s *server) ready() error {
	for end := time.Now().Add(patience); ; time.Sleep(2 * time.Millisecond) {
		select {
		case err := <-s.exited:
			s.cmd = nil
			return fmt.Errorf("%s ended before it listened: %v: %s", s.name, err, s.said)
		default:
		}
		if conn, err := net.DialTimeout("tcp", s.addr, patience); err == nil {
			conn.Close()
			return nil
		}
		if time.Now().After(end) {
			return errors.Join(fmt.Errorf("%s does not listen: %s", s.name, s.said), s.kill())
		}
	}
}

// stop ends the server as an administrator does, and is an error if it does not end well.
func (s *server) stop() error {
	if s.cmd == nil {
		return nil
	}
	s.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-s.exited:
		s.cmd = nil
		if err != nil {
			return fmt.Errorf("%s, stopped by SIGTERM: %w: %s", s.name, err, s.said)
		}
		return s.gone()
	case <-time.After(patience):
		return errors.Join(fmt.Errorf("%s does not end on SIGTERM", s.name), s.kill())
	}
}

// kill ends all its processes by SIGKILL, and returns when they are gone.
func (s *server) kill() error {
	if s.cmd == nil {
		return nil
	}
	syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
	<-s.exited
	s.cmd = nil
	return s.gone()
}

// gone waits until no process holds the data folder's lock any more: those that a killed parent
// leaves die a moment later.
func (s *server) gone() error {
	f, err := os.OpenFile(filepath.Join(s.data, "lock"), os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil // it died before it made one
	}
	if err != nil {
		return err
	}
	defer f.Close()
	for end := time.Now().Add(patience); syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			return fmt.Errorf("%s is gone, and something holds the lock of its data folder still", s.name)
		}
	}
	return nil
}

// account makes an account in the data folder, as weir chat user add does.
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
