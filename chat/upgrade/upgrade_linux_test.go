package upgrade

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"weir/serve"
)

// beNew is the new process. Where it takes over it says on each connection what it was given, and
// the peers' own words.
func beNew(what string) error {
	if what == "exits" {
		os.Exit(7)
	}
	old, err := Inherited()
	if err != nil {
		return err
	}
	if what == "hangs" {
		time.Sleep(time.Hour)
	}
	h, err := old.Receive(5)
	if err != nil {
		return err
	}
	switch what {
	case "dies":
		os.Exit(8)
	case "refuses":
		return old.Refuse(errors.New("the moon is full"))
	}
	if err := old.Taken(); err != nil {
		return err
	}
	return serveAll(h)
}

// serveAll answers each connection once, and then one that comes by the listener.
func serveAll(h Handed) error {
	for _, c := range h.Connections {
		f := os.NewFile(uintptr(c.FD), "")
		conn, err := net.FileConn(f)
		f.Close()
		if err != nil {
			return err
		}
		defer conn.Close()
		if _, err := fmt.Fprintf(conn, "%s%s%s", c.Unsent, c.State, h.State); err != nil {
			return err
		}
		if _, err := io.CopyN(conn, conn, 3); err != nil {
			return err
		}
	}
	l, err := h.Take("irc")
	if err != nil || l == nil {
		return fmt.Errorf("no listener: %v", err)
	}
	defer l.Close()
	conn, err := l.Accept()
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = io.WriteString(conn, "accepted")
	return err
}

// given is what the old process has, and the clients' ends.
type given struct {
	t       *testing.T
	l       *net.TCPListener
	h       Handed
	clients []net.Conn
}

// old makes a listener, a lock and so many connections, each with something unsent.
func old(t *testing.T, connections, unsent int) *given {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &given{t: t, l: l.(*net.TCPListener), h: Handed{State: []byte(".all")}}
	kept, err := Keep("irc", l)
	if err != nil {
		t.Fatal(err)
	}
	g.h.Listeners = []Listener{kept}
	if g.h.Lock, err = os.Create(filepath.Join(t.TempDir(), "lock")); err != nil {
		t.Fatal(err)
	}
	for i := range connections {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		c.SetDeadline(time.Now().Add(60 * time.Second))
		accepted, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		g.clients = append(g.clients, c)
		g.h.Connections = append(g.h.Connections, serve.MovedConn{FD: duplicate(t, accepted), Unsent: bytes.Repeat([]byte{byte(i)}, unsent), State: fmt.Appendf(nil, "state %d", i)})
		accepted.Close()
	}
	t.Cleanup(func() {
		g.h.Close()
		l.Close()
		for _, c := range g.clients {
			c.Close()
		}
	})
	return g
}

func duplicate(t *testing.T, c net.Conn) (dup int) {
	t.Helper()
	raw, err := c.(syscall.Conn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	raw.Control(func(fd uintptr) { dup, err = syscall.Dup(int(fd)) })
	if err != nil {
		t.Fatal(err)
	}
	syscall.CloseOnExec(dup)
	return dup
}

func command(what string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], childFlag+what)
	cmd.Stderr = os.Stderr
	return cmd
}

func start(t *testing.T, what string) *Successor {
	t.Helper()
	s, err := Start(t.Context(), command(what))
	if err != nil {
		t.Fatal(err)
	}
	if s.Version != 5 {
		t.Errorf("it knows version %d, want 5", s.Version)
	}
	return s
}

// served checks what clients see when the new process serves.
func (g *given) served() {
	g.t.Helper()
	for i, c := range g.clients {
		io.WriteString(c, "own")
		want := string(g.h.Connections[i].Unsent) + fmt.Sprintf("state %d", i) + ".all" + "own"
		got := make([]byte, len(want))
		if _, err := io.ReadFull(c, got); err != nil || string(got) != want {
			g.t.Fatalf("client %d: %d bytes that are not what was handed over, %v", i, len(got), err)
		}
	}
	c, err := net.Dial("tcp", g.l.Addr().String())
	if err != nil {
		g.t.Fatal(err)
	}
	defer c.Close()
	if got, err := io.ReadAll(c); string(got) != "accepted" || err != nil {
		g.t.Errorf("a new client is told %q, %v", got, err)
	}
}

// Connections, what waits for them, and the listener are the new process's after the word go,
// hundreds of them.
func TestEverythingIsHandedOver(t *testing.T) {
	for _, c := range []struct{ connections, unsent int }{{0, 0}, {1, 0}, {350, 10}, {5, 900_000}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			g := old(t, c.connections, c.unsent)
			s := start(t, "takes")
			if err := s.Give(t.Context(), g.h); err != nil {
				t.Fatal(err)
			}
			if err := s.Go(); err != nil {
				t.Fatal(err)
			}
			g.served()
		})
	}
}

// An old process that dies has not taken anything back: the new one goes on.
func TestTheEndOfTheOldProcessMeansGo(t *testing.T) {
	g := old(t, 3, 10)
	s := start(t, "takes")
	if err := s.Give(t.Context(), g.h); err != nil {
		t.Fatal(err)
	}
	s.wire.Close()
	g.served()
	if err := s.cmd.Wait(); err != nil {
		t.Error("the new process:", err)
	}
}

// A new process that fails before it is ready is nothing but an error, which says why.
func TestANewProcessThatFailsEarly(t *testing.T) {
	if _, err := Start(t.Context(), command("exits")); err == nil || !strings.Contains(err.Error(), "exit status 7") {
		t.Errorf("it exits: %v, want its status", err)
	}
	if _, err := Start(t.Context(), exec.Command(filepath.Join(t.TempDir(), "nothing"))); err == nil || !strings.Contains(err.Error(), "cannot be started") {
		t.Errorf("it is not there: %v", err)
	}
	if _, err := Start(t.Context(), exec.Command("cat")); err == nil || !strings.Contains(err.Error(), "new server ended") {
		t.Errorf("it is another program: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := Start(ctx, command("hangs")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it hangs: %v", err)
	}
}

// A new process that fails before the word go leaves everything as it was.
func TestEverythingIsTakenBack(t *testing.T) {
	for what, want := range map[string]string{"dies": "exit status 8", "refuses": "the moon is full"} {
		t.Run(what, func(t *testing.T) {
			g := old(t, 3, 10)
			s := start(t, what)
			if err := s.Give(t.Context(), g.h); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
			if err := s.Kill(); err != nil {
				t.Error(err)
			}
			untouched(t, g)
		})
	}
	t.Run("changes its mind", func(t *testing.T) {
		g := old(t, 3, 10)
		s := start(t, "takes")
		if err := s.Give(t.Context(), g.h); err != nil {
			t.Fatal(err)
		}
		if err := s.Kill(); err != nil {
			t.Error(err)
		}
		untouched(t, g)
	})
}

// untouched wants that nobody has read from or written to the connections.
func untouched(t *testing.T, g *given) {
	t.Helper()
	for i, c := range g.clients {
		io.WriteString(c, "hello")
		f := os.NewFile(uintptr(g.h.Connections[i].FD), "")
		conn, err := net.FileConn(f)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(conn, "back")
		got := make([]byte, 4)
		if _, err := io.ReadFull(c, got); err != nil || string(got) != "back" {
			t.Errorf("client %d got %q, %v", i, got, err)
		}
		heard := make([]byte, 5)
		if _, err := io.ReadFull(conn, heard); err != nil || string(heard) != "hello" {
			t.Errorf("client %d was heard as %q, %v", i, heard, err)
		}
		conn.Close()
		f.Close()
	}
	g.h.Connections = nil
}

// A process that was not started to take over says so.
func TestNothingIsInherited(t *testing.T) {
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := wireOf(f); err == nil {
		t.Error("a file was taken for the socket of an old process")
	}
}
