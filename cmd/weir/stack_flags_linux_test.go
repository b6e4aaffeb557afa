package main

import (
	"encoding/json"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"weir/tcpip/host"
)

// The status of the host has the values of the flags of weir stack up.
func TestStackUpAppliesItsFlags(t *testing.T) {
	s := startOnStack(t, "try:", "stack", "up", "--tap", "x0", "--addr", "10.0.0.2/24", "--setup", "--namespace", "NAMESPACE", "--peer", "10.0.0.9/24", "--gateway", "10.0.0.9",
		"--mtu", "1400", "--offload", "off", "--queues", "2", "--run", "network", "--impair", "delay=1ms", "--service", "discard=9", "--service", "source=19")
	out, wrong, code := s.weir(t, "", "netstat", "--tap", "x0", "--namespace", s.space, "--json")
	var now host.Status
	if err := json.Unmarshal([]byte(out), &now); code != 0 || err != nil {
		t.Fatalf("netstat --json: got exit status %d, error %v, want 0 and valid JSON: %s", code, err, wrong)
	}
	if now.Tap != "x0" || now.MTU != 1400 || now.Offload || now.Queues != 2 || now.Run != "network" || now.Impair != "delay=1ms" || len(now.Listeners) != 2 {
		t.Errorf("status: got %+v, want the values of the flags: x0, MTU 1400, no offload, 2 queues, network, delay=1ms, 2 listeners", now)
	}
	if !slices.Contains(now.Routes, host.Route{To: "0.0.0.0/0", Via: "10.0.0.9", Interface: "x0"}) {
		t.Errorf("routes: got %+v, want a default route through 10.0.0.9 on x0", now.Routes)
	}
	if out, wrong, code := s.weir(t, "", "ping", "-c", "1", "-W", "30", "10.0.0.9"); code != 0 {
		t.Errorf("ping 10.0.0.9: got exit status %d, want 0: %s%s", code, out, wrong)
	}
	if n, err := io.ReadFull(s.dial(t, "tcp", "10.0.0.2:19"), make([]byte, 100_000)); err != nil {
		t.Errorf("service source: got %d bytes and %v, want 100000 bytes", n, err)
	}
	s.stop(t)
}

// A host on a bridge is on the network of the interface that the bridge joins: here a cable within
// the namespace, whose other end has the kernel's address.
func TestAHostOnABridgeReachesTheBridgedNetwork(t *testing.T) {
	space := stackNamespace(t)
	cabled(t, space)
	s := startIn(t, space, "try:", "stack", "up", "--addr", "10.0.0.2/24", "--setup", "--namespace", space, "--bridge", "cable1", "--service", "echo=7")
	c := s.dial(t, "tcp", "10.0.0.2:7")
	if _, err := io.WriteString(c, "over the bridge"); err != nil {
		t.Fatal(err)
	}
	back := make([]byte, len("over the bridge"))
	if _, err := io.ReadFull(c, back); err != nil || string(back) != "over the bridge" {
		t.Errorf("echo: got %q, error %v, want %q", back, err, "over the bridge")
	}
	if out, wrong, code := s.weir(t, "", "ping", "-c", "1", "-W", "30", "10.0.0.1"); code != 0 {
		t.Errorf("ping 10.0.0.1 over the bridge: got exit status %d, want 0: %s%s", code, out, wrong)
	}
	c.Close()
	s.stop(t)
	s.inSpace(t, func() error {
		all, err := netlink.LinkList()
		for _, l := range all {
			if name := l.Attrs().Name; strings.HasPrefix(name, "br-") || name == "weir0" || l.Attrs().MasterIndex != 0 {
				t.Errorf("after the host stopped: got interface %s (master %d), want no bridge, no weir0 and no interface in a bridge", name, l.Attrs().MasterIndex)
			}
		}
		return err
	})
}

// cabled makes a namespace with a cable: cable0, which has the address 10.0.0.1/24, and cable1.
func cabled(t *testing.T, space string) {
	t.Helper()
	made := make(chan error, 1) // the goroutine below -> here: one
	go func() {
		runtime.LockOSThread() // and never unlocked: so the thread ends
		made <- func() error {
			h, err := netns.NewNamed(space)
			if err != nil {
				return err
			}
			defer h.Close()
			if err := netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "cable0"}, PeerName: "cable1"}); err != nil {
				return err
			}
			for _, name := range []string{"cable0", "cable1"} {
				l, err := netlink.LinkByName(name)
				if err == nil {
					err = netlink.LinkSetUp(l)
				}
				if addr, _ := netlink.ParseAddr("10.0.0.1/24"); err == nil && name == "cable0" {
					err = netlink.AddrAdd(l, addr)
				}
				if err != nil {
					return err
				}
			}
			return nil
		}()
	}()
	select {
	case err := <-made:
		if err != nil {
			t.Skipf("no cable can be made here: %v", err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("creating the cable: got no answer within 30 s, want it made or refused")
	}
	t.Cleanup(func() { netns.DeleteNamed(space) }) //nolint:errcheck // it exists after a failure only
}
