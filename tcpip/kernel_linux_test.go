package tcpip

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"weir/tcpip/link"
)

// peer is the kernel as the stack's peer: it has one end of a TAP device, in a network namespace of
// its own.
type peer struct {
	space  string
	device string // the kernel's side of the link
	tap    *link.Tap
	stack  *Stack
	of     ends // that pair uses
}

// Their addresses.
const (
	kernelHost  = "10.77.0.1"
	stackHost   = "10.77.0.2"
	kernelHost6 = "fd77::1"
	stackHost6  = "fd77::2"
)

// ends are the addresses of both by one version of IP, and those of two hosts that do not exist.
type ends struct {
	name          string
	kernel, stack string
	silent        [2]string
	all           string // the network of all addresses
}

// bothEnds are the ends of both versions of IP.
var bothEnds = []ends{
	{"IPv4", kernelHost, stackHost, [2]string{"10.77.0.99", "10.77.0.98"}, "0.0.0.0/0"},
	{"IPv6", kernelHost6, stackHost6, [2]string{"fd77::99", "fd77::98"}, "::/0"},
}

// ofBothEnds runs a test once for each version of IP.
func ofBothEnds(t *testing.T, test func(*testing.T, ends)) {
	for _, of := range bothEnds {
		t.Run(of.name, func(t *testing.T) { test(t, of) })
	}
}

// waitLimit is how long a test waits for an expected event.
const waitLimit = 60 * time.Second

// peers numbers the namespaces of a run.
var peers atomic.Int32

// kernel makes a stack whose neighbour is the kernel, by both versions of IP. plain means a device
// without offloads. Without the privileges for a namespace and a device, the test is skipped.
func kernel(t testing.TB, plain bool, change ...func(*Config)) *peer {
	t.Helper()
	p := &peer{space: newSpace(t), device: "tap0", of: bothEnds[0]}
	p.tap = device(t, link.SetupConfig{Namespace: p.space, Tap: p.device, Addrs: []netip.Prefix{netip.MustParsePrefix(kernelHost + "/24")}}, plain)
	p.addIPv6(t)
	p.stack = hostOn(t, p.tap, stackHost+"/24", append(change, withIPv6)...)
	return p
}

// withIPv6 gives a stack its IPv6 address beside that of IPv4.
func withIPv6(c *Config) { c.Addrs = append(c.Addrs, netip.MustParsePrefix(stackHost6+"/64")) }

// newSpace returns the name of a network namespace for a peer. Tests that have one are not run in
// emulators of other machines, which lack system calls: scripts/soak knows them by their names.
func newSpace(t testing.TB) string {
	t.Helper()
	if name := t.Name(); !strings.HasPrefix(name, "TestKernel") && !strings.HasPrefix(name, "Benchmark") {
		t.Errorf("the test has a namespace: its name must start with TestKernel")
	}
	return fmt.Sprintf("weirpeer%d-%d", os.Getpid(), peers.Add(1))
}

// kernelOfEnds is kernel for a test of one version of IP.
func kernelOfEnds(t testing.TB, of ends, plain bool, change ...func(*Config)) *peer {
	t.Helper()
	p := kernel(t, plain, change...)
	p.of = of
	return p
}

// addIPv6 gives the kernel its IPv6 address, without probing for it.
func (p *peer) addIPv6(t testing.TB) {
	t.Helper()
	p.onDevice(t, func(l netlink.Link) error {
		return netlink.AddrAdd(l, &netlink.Addr{IPNet: &net.IPNet{IP: net.ParseIP(kernelHost6), Mask: net.CIDRMask(64, 128)}, Flags: unix.IFA_F_NODAD})
	})
}

// device makes a TAP or TUN device in a namespace, until the test ends.
func device(t testing.TB, c link.SetupConfig, plain bool) *link.Tap {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("a TAP device in a namespace of its own needs root")
	}
	undo, err := link.Setup(c)
	if errors.Is(err, os.ErrPermission) || errors.Is(err, os.ErrNotExist) {
		t.Skipf("no device in a namespace of its own is to be had: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := undo(); err != nil {
			t.Error(err)
		}
	})
	open := link.OpenTap
	if c.Medium == link.IP {
		open = link.OpenTun
	}
	tap, err := open(link.TapConfig{Name: c.Tap, Namespace: c.Namespace, Plain: plain, Queues: c.Queues})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tap.Close() })
	return tap
}

// inside calls do on a thread in the kernel's namespace, and returns its error. Sockets made there
// stay in that namespace.
func (p *peer) inside(do func() error) error {
	done := make(chan error, 1) // the goroutine below -> here: one answer
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		h, err := netns.GetFromName(p.space)
		if err == nil {
			err = netns.Set(h)
			h.Close()
		}
		if err == nil {
			err = do()
		}
		done <- err
	}()
	return <-done
}

// onDevice calls do with the kernel's side of the link.
func (p *peer) onDevice(t testing.TB, do func(netlink.Link) error) {
	t.Helper()
	if err := p.inside(func() error {
		l, err := netlink.LinkByName(p.device)
		if err != nil {
			return err
		}
		return do(l)
	}); err != nil {
		t.Fatal(err)
	}
}

// cubic makes a socket of the kernel use CUBIC, so that results do not depend on the system's
// default.
func cubic(_, _ string, c syscall.RawConn) error {
	return c.Control(func(fd uintptr) {
		unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, "cubic") //nolint:errcheck // a datagram's socket has none
	})
}

// kernelDial connects the kernel to a TCP address. To be called inside.
func kernelDial(address string) (net.Conn, error) {
	d := net.Dialer{Control: cubic}
	d.SetMultipathTCP(false)
	return d.Dial("tcp", address)
}

// kernelListen has the kernel listen. To be called inside.
func kernelListen(address string) (net.Listener, error) {
	c := net.ListenConfig{Control: cubic}
	c.SetMultipathTCP(false)
	return c.Listen(context.Background(), "tcp", address)
}

// dial connects the kernel to a TCP address until the test ends.
func (p *peer) dial(t testing.TB, address string) net.Conn {
	t.Helper()
	var c net.Conn
	if err := p.inside(func() (err error) { c, err = kernelDial(address); return err }); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// listen has the kernel listen until the test ends.
func (p *peer) listen(t testing.TB, address string) net.Listener {
	t.Helper()
	var l net.Listener
	if err := p.inside(func() (err error) { l, err = kernelListen(address); return err }); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// pair is a connection between the stack and the kernel: the one that the stack dials, or the one
// that it accepts.
func (p *peer) pair(t *testing.T, stackDials bool) (ours *Conn, kernels *net.TCPConn) {
	t.Helper()
	var a, b net.Conn
	var err error
	if stackDials {
		l := p.listen(t, net.JoinHostPort(p.of.kernel, "0"))
		a = dial(t, p.stack, "tcp", l.Addr().String())
		b, err = l.Accept()
	} else {
		l := listen(t, p.stack, net.JoinHostPort(p.of.stack, "0"))
		b = p.dial(t, l.Addr().String())
		a, err = l.Accept()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close(); b.Close() })
	return a.(*Conn), b.(*net.TCPConn)
}

// until waits for something to become true.
func until(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(waitLimit); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after %v this is not true, want it to be: %s", waitLimit, what)
		}
	}
}

// counted returns a counter of the kernel in its namespace (Linux, TcpExt of /proc/net/netstat).
func (p *peer) counted(t *testing.T, what string) string {
	t.Helper()
	var text []byte
	if err := p.inside(func() (err error) { text, err = os.ReadFile("/proc/thread-self/net/netstat"); return err }); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	for i := 0; i+1 < len(lines); i += 2 {
		names, values := strings.Fields(lines[i]), strings.Fields(lines[i+1])
		if k := slices.Index(names, what); k >= 0 && k < len(values) {
			return values[k]
		}
	}
	t.Fatalf("the kernel has no counter %s, want it in the namespace's statistics", what)
	return ""
}
