package subject

import (
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"
)

func TestListenersAreFoundByAddressAndPort(t *testing.T) {
	for _, tt := range []struct {
		bind, look string
		want       bool
	}{
		{"127.0.0.1:0", "127.0.0.1", true},
		{"127.0.0.1:0", "127.0.0.2", false},
		{"127.0.0.1:0", "::1", false},
		{"0.0.0.0:0", "127.0.0.1", true},
		{"0.0.0.0:0", "::1", false},
		{"[::]:0", "::1", true},
		{"[::]:0", "127.0.0.1", true},
		{"[::1]:0", "::1", true},
		{"[::1]:0", "127.0.0.1", false},
	} {
		network := "tcp"
		if tt.bind == "0.0.0.0:0" {
			network = "tcp4" // Go takes 0.0.0.0 for both families otherwise
		}
		l, err := net.Listen(network, tt.bind)
		if err != nil {
			t.Logf("skipping %s: %v", tt.bind, err)
			continue
		}
		port := l.Addr().(*net.TCPAddr).Port
		if got := listening(os.Getpid(), net.ParseIP(tt.look), port); got != tt.want {
			t.Errorf("bound to %s, seen at %s: %v", l.Addr(), tt.look, got)
		}
		l.Close()
		if listening(os.Getpid(), net.ParseIP(tt.look), port) {
			t.Errorf("%s is closed and still seen", l.Addr())
		}
	}
}

// A table is read no further than its listeners. That they come first is the kernel's doing, not
// this package's.
func TestListenersAreListedBeforeConnections(t *testing.T) {
	for range 100 {
		early := listenLocal(t)
		c, err := net.Dial("tcp", early.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		late := listenLocal(t)
		for _, l := range []net.Listener{early, late} {
			addr := l.Addr().(*net.TCPAddr)
			if !listening(os.Getpid(), addr.IP, addr.Port) {
				t.Fatalf("the listener at %s is not seen beside connections", addr)
			}
		}
	}
}

func listenLocal(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// Listeners and connections are told apart, and IPv4 in IPv6 is known; the lines are a
// little-endian machine's.
func TestHasListenerOnAKnownTable(t *testing.T) {
	const table = "  sl  local_address rem_address   st tx_queue\n" +
		"   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000\n" +
		"   1: 0000000000000000FFFF00000100007F:1F92 00000000000000000000000000000000:0000 0A 00000000:00000000\n" +
		"   2: 0100007F:1F91 0100007F:C001 01 00000000:00000000 00:00000000\n"
	for port, want := range map[int]bool{8080: true, 8081: false, 8082: true, 8083: false} {
		if got := hasListener(strings.NewReader(table), net.ParseIP("127.0.0.1"), port); got != want {
			t.Errorf("port %d: %v", port, got)
		}
	}
}

// What arrives and is not read is seen, accepted or not, and what is read is not.
func TestUnreadBytesAreCounted(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	want := func(n int64) {
		t.Helper()
		deadline := time.Now().Add(20 * time.Second)
		for unread(os.Getpid(), port) != n && time.Now().Before(deadline) {
			time.Sleep(time.Millisecond)
		}
		if got := unread(os.Getpid(), port); got != n {
			t.Errorf("%d bytes are unread, want %d", got, n)
		}
	}
	want(0)
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write(make([]byte, 300)); err != nil {
		t.Fatal(err)
	}
	want(300)
	s, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Write(make([]byte, 50)); err != nil { // the other end's to read
		t.Fatal(err)
	}
	if _, err := io.ReadFull(s, make([]byte, 200)); err != nil {
		t.Fatal(err)
	}
	want(100)
}
