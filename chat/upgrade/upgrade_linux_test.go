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

// beNew runs the new process of a test. If it takes over, it writes to each connection what it was
// passed and echoes what the peer sends.
func beNew(behaviour string) error {
	if behaviour == "exits" {
		os.Exit(7)
	}
	old, err := Inherited()
	if err != nil {
		return err
	}
	if behaviour == "hangs" {
		time.Sleep(time.Hour)
	}
	h, err := old.Receive(5)
	if err != nil {
		return err
	}
	switch behaviour {
	case "dies":
		os.Exit(8)
	case "refuses":
		return old.Refuse(errors.New("the moon is full"))
	}
	if err := old.Confirm(); err != nil {
		return err
	}
	return serveAll(h)
}

// serveAll answers each connection once, then one from the listener.
func serveAll(h Handover) error {
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
	l, err := h.TakeListener("irc")
	if err != nil || l == nil {
		return fmt.Errorf("TakeListener: got %v and error %v, want the listener irc", l, err)
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

// oldServer is everything that the old process passes on, with the clients' ends.
type oldServer struct {
	t        *testing.T
	listener *net.TCPListener
	handover Handover
	clients  []net.Conn
}

// newOldServer makes a listener, a lock and connections, each with unsent output.
func newOldServer(t *testing.T, connections, unsent int) *oldServer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &oldServer{t: t, listener: l.(*net.TCPListener), handover: Handover{State: []byte(".all")}}
	kept, err := DuplicateListener("irc", l)
	if err != nil {
		t.Fatal(err)
	}
	g.handover.Listeners = []Listener{kept}
	if g.handover.Lock, err = os.Create(filepath.Join(t.TempDir(), "lock")); err != nil {
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
		g.handover.Connections = append(g.handover.Connections, serve.MovedConn{FD: duplicate(t, accepted), Unsent: bytes.Repeat([]byte{byte(i)}, unsent), State: fmt.Appendf(nil, "state %d", i)})
		accepted.Close()
	}
	t.Cleanup(func() {
		g.handover.Close()
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
		t.Errorf("version of the new process: got %d, want 5", s.Version)
	}
	return s
}

// checkServed checks that the new process serves all clients.
func (g *oldServer) checkServed() {
	g.t.Helper()
	for i, c := range g.clients {
		io.WriteString(c, "own")
		want := string(g.handover.Connections[i].Unsent) + fmt.Sprintf("state %d", i) + ".all" + "own"
		got := make([]byte, len(want))
		if _, err := io.ReadFull(c, got); err != nil || string(got) != want {
			g.t.Fatalf("client %d: got %q and error %v, want the unsent output, the state and new output: %q", i, got, err, want)
		}
	}
	c, err := net.Dial("tcp", g.listener.Addr().String())
	if err != nil {
		g.t.Fatal(err)
	}
	defer c.Close()
	if got, err := io.ReadAll(c); string(got) != "accepted" || err != nil {
		g.t.Errorf("a new client: got %q and error %v, want accepted", got, err)
	}
}

// The new process owns all connections, their unsent output and the listener after go.
func TestConnectionsAndListenersAreHandedOver(t *testing.T) {
	for _, c := range []struct{ connections, unsent int }{{0, 0}, {1, 0}, {350, 10}, {5, 900_000}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			g := newOldServer(t, c.connections, c.unsent)
			s := start(t, "takes")
			if err := s.Transfer(t.Context(), g.handover); err != nil {
				t.Fatal(err)
			}
			if err := s.Commit(); err != nil {
				t.Fatal(err)
			}
			g.checkServed()
		})
	}
}

// An old process that exits has not cancelled: the new one serves.
func TestExitOfTheOldProcessMeansGo(t *testing.T) {
	g := newOldServer(t, 3, 10)
	s := start(t, "takes")
	if err := s.Transfer(t.Context(), g.handover); err != nil {
		t.Fatal(err)
	}
	s.socket.Close()
	g.checkServed()
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("the new process: got %v, want exit status 0", err)
	}
}

// A new process that fails before it is ready leaves only an error with the reason.
func TestNewProcessFailsBeforeItIsReady(t *testing.T) {
	if _, err := Start(t.Context(), command("exits")); err == nil || !strings.Contains(err.Error(), "exit status 7") {
		t.Errorf("the new process exits: got %v, want its exit status", err)
	}
	if _, err := Start(t.Context(), exec.Command(filepath.Join(t.TempDir(), "nothing"))); err == nil || !strings.Contains(err.Error(), "cannot be started") {
		t.Errorf("the program does not exist: got %v, want that it cannot be started", err)
	}
	if _, err := Start(t.Context(), exec.Command("cat")); err == nil || !strings.Contains(err.Error(), "new server exited") {
		t.Errorf("another program: got %v, want that it exited", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := Start(ctx, command("hangs")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the new process hangs: got %v, want context.DeadlineExceeded", err)
	}
}

// A new process that fails before go leaves all connections untouched.
func TestCancelledUpgradeLeavesConnectionsUntouched(t *testing.T) {
	for what, want := range map[string]string{"dies": "exit status 8", "refuses": "the moon is full"} {
		t.Run(what, func(t *testing.T) {
			g := newOldServer(t, 3, 10)
			s := start(t, what)
			if err := s.Transfer(t.Context(), g.handover); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("Transfer: got error %v, want %q", err, want)
			}
			if err := s.Kill(); err != nil {
				t.Errorf("Kill of the new process: got %v, want nil", err)
			}
			checkUntouched(t, g)
		})
	}
	t.Run("cancelled", func(t *testing.T) {
		g := newOldServer(t, 3, 10)
		s := start(t, "takes")
		if err := s.Transfer(t.Context(), g.handover); err != nil {
			t.Fatal(err)
		}
		if err := s.Kill(); err != nil {
			t.Errorf("Kill of the new process: got %v, want nil", err)
		}
		checkUntouched(t, g)
	})
}

// checkUntouched checks that the new process has neither read from nor written to the connections.
func checkUntouched(t *testing.T, g *oldServer) {
	t.Helper()
	for i, c := range g.clients {
		io.WriteString(c, "hello")
		f := os.NewFile(uintptr(g.handover.Connections[i].FD), "")
		conn, err := net.FileConn(f)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(conn, "back")
		got := make([]byte, 4)
		if _, err := io.ReadFull(c, got); err != nil || string(got) != "back" {
			t.Errorf("client %d: got %q and error %v, want back", i, got, err)
		}
		heard := make([]byte, 5)
		if _, err := io.ReadFull(conn, heard); err != nil || string(heard) != "hello" {
			t.Errorf("from client %d: got %q and error %v, want hello", i, heard, err)
		}
		conn.Close()
		f.Close()
	}
	g.handover.Connections = nil
}

// A process that was not started for an upgrade gets an error.
func TestOpeningAFileAsTheSocketFails(t *testing.T) {
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := openSocket(f); err == nil {
		t.Error("opening a file as the socket of an old process: got no error, want one")
	}
}
