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
			network = "tcp4" // otherwise Go binds 0.0.0.0 for both families
		}
		l, err := net.Listen(network, tt.bind)
		if err != nil {
			t.Logf("skipping %s: %v", tt.bind, err)
			continue
		}
		port := l.Addr().(*net.TCPAddr).Port
		if got := listening(os.Getpid(), net.ParseIP(tt.look), port); got != tt.want {
			t.Errorf("bound to %s, looked up at %s: got %t, want %t", l.Addr(), tt.look, got, tt.want)
		}
		l.Close()
		if listening(os.Getpid(), net.ParseIP(tt.look), port) {
			t.Errorf("%s: got a listener after Close, want none", l.Addr())
		}
	}
}

// TestListenersAreListedBeforeConnections: hasListener relies on this property of the kernel.
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
				t.Fatalf("%s: got no listener among connections, want it found", addr)
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

// TestHasListenerOnAKnownTable: it distinguishes listeners from connections, and handles IPv4 in
// IPv6. The lines are from a little-endian machine.
func TestHasListenerOnAKnownTable(t *testing.T) {
	const table = "  sl  local_address rem_address   st tx_queue\n" +
		"   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000\n" +
		"   1: 0000000000000000FFFF00000100007F:1F92 00000000000000000000000000000000:0000 0A 00000000:00000000\n" +
		"   2: 0100007F:1F91 0100007F:C001 01 00000000:00000000 00:00000000\n"
	for port, want := range map[int]bool{8080: true, 8081: false, 8082: true, 8083: false} {
		if got := hasListener(strings.NewReader(table), net.ParseIP("127.0.0.1"), port); got != want {
			t.Errorf("port %d: got %t, want %t", port, got, want)
		}
	}
}

// TestUnreadBytesAreCounted: bytes count from their arrival until they are read, before the
// connection is accepted too.
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
			t.Errorf("got %d unread bytes, want %d", got, n)
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
	if _, err := s.Write(make([]byte, 50)); err != nil { // for the other end
		t.Fatal(err)
	}
	if _, err := io.ReadFull(s, make([]byte, 200)); err != nil {
		t.Fatal(err)
	}
	want(100)
}
