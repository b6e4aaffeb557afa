package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// inside runs a shell script in a network namespace, and returns what it prints.
func inside(space, script string) (string, error) {
	out, err := exec.Command("ip", "netns", "exec", space, "bash", "-c", script).CombinedOutput()
	return string(out), err
}

// newSpace makes a network namespace, until the test ends.
func newSpace(t *testing.T) (space string) {
	t.Helper()
	space = fmt.Sprintf("weir-%d-%s", os.Getpid(), filepath.Base(t.Name()))
	if out, err := exec.Command("ip", "netns", "add", space).CombinedOutput(); err != nil {
		t.Skipf("the test needs network namespaces: %s (%v)", out, err)
	}
	t.Cleanup(func() { exec.Command("ip", "netns", "del", space).Run() }) //nolint:errcheck // it exists
	return space
}

// openDevice opens a device, tap or tun, in a namespace.
func openDevice(t *testing.T, space, name string, kind uint16) *os.File {
	t.Helper()
	opened := make(chan error, 1) // the goroutine below -> openDevice: one error
	var fd int
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		h, err := netns.GetFromName(space)
		if err == nil {
			err = netns.Set(h)
			h.Close()
		}
		if err == nil {
			fd, err = unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC, 0)
		}
		if err == nil {
			request, _ := unix.NewIfreq(name) // the name is short
			request.SetUint16(kind | unix.IFF_NO_PI)
			err = unix.IoctlIfreq(fd, unix.TUNSETIFF, request)
		}
		opened <- err
	}()
	if err := <-opened; err != nil {
		t.Fatalf("opening the device %s: %v", name, err)
	}
	f := os.NewFile(uintptr(fd), name)
	t.Cleanup(func() { f.Close() })
	return f
}

// startOnDevice starts a user-mode network on a device that this process has opened, as
// descriptor 3. The caller stops it.
func startOnDevice(t *testing.T, device *os.File, args ...string) (stop func()) {
	t.Helper()
	c := natCommand(t, append([]string{"nat", "--fd", "3"}, args...)...)
	c.ExtraFiles = []*os.File{device}
	said := startSaying(t, c, "the network is there")
	return func() {
		c.Process.Signal(os.Interrupt) //nolint:errcheck // Wait shows it
		if err := c.Wait(); err != nil {
			t.Errorf("after SIGINT: got %v, want a clean end: %s", err, said)
		}
	}
}

// A TAP or TUN device that another program has opened in a namespace, with or without virtio
// headers, is served as a descriptor, and the kernel there reaches this machine.
func TestADescriptorOfAnotherNamespaceGetsANetwork(t *testing.T) {
	natCommand(t) // it skips the test where there are no devices
	port, _ := machineServer(t)
	for name, kind := range map[string]uint16{"tap": unix.IFF_TAP, "tun": unix.IFF_TUN, "tapvnet": unix.IFF_TAP | unix.IFF_VNET_HDR, "tunvnet": unix.IFF_TUN | unix.IFF_VNET_HDR} {
		t.Run(name, func(t *testing.T) {
			space := newSpace(t)
			defer startOnDevice(t, openDevice(t, space, name, kind), "--mtu", "1500", "--loopback", "192.0.2.1", "--loopback", "2001:db8::1")()
			if out, err := inside(space, "ip link set lo up && ip link set "+name+" up && ip addr add 10.0.2.100/24 dev "+name+" && ip addr add fd00:2::64/64 dev "+name+" nodad && "+
				"ip route add default via 10.0.2.2 && ip -6 route replace default via fd00:2::2 dev "+name); err != nil {
				t.Fatalf("configuring the device: %s (%v)", out, err)
			}
			for _, host := range []string{"192.0.2.1", "2001:db8::1"} {
				if out, err := inside(space, fetch(host, port)); err != nil || out != greeting {
					t.Errorf("from %s: got %q and %v, want the page", host, out, err)
				}
			}
		})
	}
}

// A descriptor that is no device is reported in one line, with the flag.
func TestDescriptorsThatAreNoDeviceAreRefused(t *testing.T) {
	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, fd := range []string{"3", "99", "-1"} {
		c := natCommand(t, "nat", "--fd="+fd)
		c.ExtraFiles = []*os.File{file}
		out, err := c.CombinedOutput()
		if err == nil || strings.Count(string(out), "\n") != 1 || !strings.Contains(string(out), "--fd "+fd) {
			t.Errorf("--fd %s: got %v and %q, want one line with the flag", fd, err, out)
		}
	}
}
