package subject

import (
	"net"
	"os"
	"testing"
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

// Listeners and connections are told apart, and IPv4 in IPv6 is known; the lines are a little-endian machine's.
func TestHasListenerOnAKnownTable(t *testing.T) {
	const table = "  sl  local_address rem_address   st tx_queue\n" +
		"   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000\n" +
		"   1: 0100007F:1F91 0100007F:C001 01 00000000:00000000 00:00000000\n" +
		"   2: 0000000000000000FFFF00000100007F:1F92 00000000000000000000000000000000:0000 0A 0\n"
	for port, want := range map[int]bool{8080: true, 8081: false, 8082: true, 8083: false} {
		if got := hasListener([]byte(table), net.ParseIP("127.0.0.1"), port); got != want {
			t.Errorf("port %d: %v", port, got)
		}
	}
}
