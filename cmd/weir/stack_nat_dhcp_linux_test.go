package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// udhcpc is a DHCP client of busybox on an interface of a namespace.
type udhcpc struct {
	*exec.Cmd
	said  *lockedBuffer
	lease string // the file of its leases
}

// startUdhcpc starts a client, which asks for a lease of that many seconds. It is killed at the end
// of the test.
func startUdhcpc(t *testing.T, space, device string, seconds int) *udhcpc {
	t.Helper()
	script, err := filepath.Abs("testdata/guest/udhcpc")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	c := &udhcpc{Cmd: exec.Command("ip", "netns", "exec", space, "udhcpc", "-f", "-R", "-i", device, "-s", script, "-x", fmt.Sprintf("lease:%d", seconds)), said: &lockedBuffer{}, lease: filepath.Join(folder, "lease")}
	c.Env = append(os.Environ(), "LEASE="+c.lease, "RESOLV="+filepath.Join(folder, "resolv.conf"))
	c.Stdout, c.Stderr = c.said, c.said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Process.Kill() //nolint:errcheck // it may have ended
		c.Wait()         //nolint:errcheck // it was killed, or a test has waited for it
		if t.Failed() {
			t.Logf("udhcpc on %s said: %s", device, c.said)
		}
	})
	return c
}

// has waits until the client's script was called with a reason, and returns what it wrote down.
func (c *udhcpc) has(t *testing.T, reason string) (line string) {
	t.Helper()
	waitFor(t, "udhcpc has "+reason, func() bool {
		b, _ := os.ReadFile(c.lease) // it is not there yet
		for l := range strings.Lines(string(b)) {
			if strings.HasPrefix(l, reason+" ") {
				line = strings.TrimSpace(l)
				return true
			}
		}
		return false
	})
	return line
}

// newUdhcpcSpace makes a namespace with a network for clients on two interfaces, which share a
// device, and with a port of this machine.
func newUdhcpcSpace(t *testing.T, more ...string) (space string, stop func()) {
	t.Helper()
	if _, err := exec.LookPath("udhcpc"); err != nil {
		t.Skip("the test needs udhcpc: scripts/setup test")
	}
	natCommand(t) // it skips the test where there are no devices
	space = newSpace(t)
	stop = startOnDevice(t, openDevice(t, space, "tap0", unix.IFF_TAP), append([]string{"--mtu", "1400", "--dns", "192.0.2.53"}, more...)...)
	if out, err := inside(space, "ip link set lo up && ip link set tap0 up"); err != nil {
		t.Fatalf("setting the device up: %s (%v)", out, err)
	}
	return space, stop
}

// A DHCP client that others have written gets an address, a router, a name server and an MTU, and
// the kernel configures IPv6 by router advertisements. Both reach this machine.
func TestUdhcpcGetsALease(t *testing.T) {
	port, _ := machineServer(t)
	space, stop := newUdhcpcSpace(t, "--loopback", "192.0.2.1", "--loopback", "2001:db8::1")
	defer stop()
	c := startUdhcpc(t, space, "tap0", 100000)
	if got, want := c.has(t, "bound"), "bound address=10.0.2.100/24 router=10.0.2.2 dns=10.0.2.2 mtu=1400 lease=86400 server=10.0.2.2"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	waitFor(t, "the kernel has an address of the router advertisement", func() bool {
		out, err := inside(space, "ip -6 addr show dev tap0 scope global | grep -v tentative")
		return err == nil && strings.Contains(out, "inet6 fd00:2::")
	})
	if out, err := inside(space, "ip -6 route show default; cat /proc/sys/net/ipv6/conf/tap0/mtu"); err != nil || !strings.Contains(out, "proto ra") || !strings.HasSuffix(out, "\n1400\n") {
		t.Errorf("the kernel's IPv6 route and MTU: got %q (%v), want a default route by the router, and 1400 (RFC 4861, 6.3.4)", out, err)
	}
	for _, host := range []string{"192.0.2.1", "2001:db8::1"} {
		if out, err := inside(space, fetch(host, port)); err != nil || out != greeting {
			t.Errorf("from %s: got %q and %v, want the page", host, out, err)
		}
	}
}

// A second client, with a hardware address of its own, gets another address. An address that a
// client has released is given to the next one.
func TestUdhcpcsGetDifferentAddresses(t *testing.T) {
	space, stop := newUdhcpcSpace(t)
	defer stop()
	if out, err := inside(space, "ip link set tap0 promisc on && for i in 1 2; do ip link add mac$i link tap0 type macvlan mode private && ip link set mac$i up; done"); err != nil {
		t.Skipf("the test needs macvlan interfaces: %s (%v)", out, err)
	}
	first, second := startUdhcpc(t, space, "tap0", 100000), (*udhcpc)(nil)
	checkAddress(t, first.has(t, "bound"), "10.0.2.100/24")
	second = startUdhcpc(t, space, "mac1", 100000)
	checkAddress(t, second.has(t, "bound"), "10.0.2.101/24")
	second.Process.Signal(syscall.SIGTERM) //nolint:errcheck // Wait shows it
	second.Wait()                          //nolint:errcheck // it has released the lease, by -R
	third := startUdhcpc(t, space, "mac2", 100000)
	checkAddress(t, third.has(t, "bound"), "10.0.2.101/24")
}

// A lease is renewed at T1: half of the shortest one that udhcpc has, 16 s.
func TestUdhcpcRenewsItsLease(t *testing.T) {
	space, stop := newUdhcpcSpace(t)
	defer stop()
	c := startUdhcpc(t, space, "tap0", 16)
	if line := c.has(t, "bound"); !strings.Contains(line, "lease=16 ") {
		t.Errorf("got %q, want a lease of 16 s, as the client has asked for", line)
	}
	checkAddress(t, c.has(t, "renew"), "10.0.2.100/24")
}

// checkAddress checks the address of a lease.
func checkAddress(t *testing.T, line, want string) {
	t.Helper()
	if !strings.Contains(line, " address="+want+" ") {
		t.Errorf("got the lease %q, want %s", line, want)
	}
}
