package network

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// made creates a network, or skips the test: this needs root and a kernel with the devices.
func made(t *testing.T, kind func(string) (*Network, error), name string) *Network {
	t.Helper()
	n, err := kind(fmt.Sprintf("weir%s%d", name, os.Getpid()))
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
		for _, namespace := range n.Namespaces() {
			if _, err := os.Stat("/run/netns/" + namespace); err == nil {
				t.Errorf("got the namespace %s after Close, want it removed", namespace)
			}
		}
	})
	return n
}

func read(file string) string {
	b, _ := os.ReadFile(filepath.Join(sysctls, file))
	return strings.TrimSpace(string(b))
}

// TestSettingsApplyOnlyToTheNamespace checks that a setting in a namespace does not change the
// host's.
func TestSettingsApplyOnlyToTheNamespace(t *testing.T) {
	const control = "tcp_congestion_control"
	host := read(control)
	n := made(t, Cable, "set")
	chosen := 0
	for _, c := range strings.Fields(read("tcp_available_congestion_control")) {
		if err := n.Set(control, c); err != nil {
			t.Logf("cannot choose %s there: %v", c, err)
			continue
		}
		chosen++
		for _, namespace := range n.Namespaces() {
			if got := Setting(namespace, control); got != c {
				t.Errorf("%s: got %q, want %q", namespace, got, c)
			}
		}
	}
	if chosen == 0 {
		t.Skip("no congestion control can be chosen in a namespace here")
	}
	if got := read(control); got != host {
		t.Errorf("host: got %q, want %q", got, host)
	}
	if got := Setting("weir-no-such-namespace", control); got != "" {
		t.Errorf("missing namespace: got %q, want nothing", got)
	}
}

func TestTheEndsOfACableReachEachOther(t *testing.T) {
	for _, kind := range []string{"veth", "veth6"} {
		t.Run(kind, func(t *testing.T) { endsReachEachOther(t, kind) })
	}
}

func endsReachEachOther(t *testing.T, kind string) {
	n := made(t, func(name string) (*Network, error) { return New(kind, name) }, kind)
	if got := n.Addr.Addr().Is6(); got != (kind == "veth6") {
		t.Errorf("got the address %v, want one of the version of IP of %s", n.Addr, kind)
	}
	var l net.Listener
	err := In(n.Subject, func() (err error) {
		l, err = net.Listen("tcp", net.JoinHostPort(n.Host(), "7"))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	err = In(n.Peer, func() error {
		c, err := net.Dial("tcp", l.Addr().String())
		if err == nil {
			c.Close()
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestADeviceIsReadyForAStack(t *testing.T) {
	for kind, c := range map[string]struct {
		host string
		peer netip.Prefix
	}{"tap": {"10.77.0.2", tapAddrs.peer}, "tap6": {"fd00:77::2", tap6Addrs.peer}} {
		t.Run(kind, func(t *testing.T) { deviceIsReady(t, kind, c.host, c.peer) })
	}
	if _, err := New("token-ring", "x"); err == nil {
		t.Error("New of an unknown kind: got no error, want one")
	}
}

func deviceIsReady(t *testing.T, kind, host string, peer netip.Prefix) {
	n := made(t, func(name string) (*Network, error) { return New(kind, name) }, kind)
	if n.Host() != host || len(n.Namespaces()) != 1 {
		t.Errorf("got %+v, want the host %s in one namespace", n, host)
	}
	err := In(n.Peer, func() error {
		device, err := net.InterfaceByName(n.Tap)
		if err != nil || device.Flags&net.FlagUp == 0 {
			return fmt.Errorf("the device: got %+v, error %v; want it up", device, err)
		}
		addrs, err := device.Addrs()
		if err != nil || !strings.Contains(fmt.Sprint(addrs), peer.String()) {
			return fmt.Errorf("the addresses of the device: got %v, error %v; want %v", addrs, err, peer)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
