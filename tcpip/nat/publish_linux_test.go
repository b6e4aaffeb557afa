package nat

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"weir/tcpip/link"
)

// warnings passes the messages of a log on.
type warnings struct {
	slog.Handler
	all chan<- string // Handle -> test; what finds it full is lost
}

// Handle implements slog.Handler.
func (w warnings) Handle(_ context.Context, r slog.Record) error {
	select {
	case w.all <- r.Message:
	default:
	}
	return nil
}

// Enabled implements slog.Handler.
func (w warnings) Enabled(context.Context, slog.Level) bool { return true }

// A guest may use up the descriptors. A published port then goes on when there are some again.
func TestPublishedPortsOutlastAShortageOfDescriptors(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := free.Addr().(*net.TCPAddr).AddrPort()
	free.Close()
	said := make(chan string, 1)
	host, _ := network(t, link.IP, Config{Publish: []Publish{{"tcp", at, netip.AddrPortFrom(netip.Addr{}, 80)}}, Log: slog.New(warnings{slog.DiscardHandler, said})})
	l, err := host.Listen("tcp", ":80")
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 3, Max: limit.Max}); err != nil {
		t.Fatal(err)
	}
	err = unix.Connect(fd, &unix.SockaddrInet4{Port: int(at.Port()), Addr: at.Addr().As4()})
	var message string
	select {
	case message = <-said:
	case <-time.After(waitLimit):
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if err != nil || message == "" {
		t.Fatalf("got %q in the log (%v), want that the port could not accept", message, err)
	}
	stop := time.AfterFunc(waitLimit, func() { l.Close() })
	defer stop.Stop()
	c, err := l.Accept()
	if err != nil {
		t.Fatalf("the guest got no connection when there were descriptors again: %v", err)
	}
	c.Close()
}
