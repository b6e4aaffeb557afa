package tcpip

import (
	"errors"
	"io"
	"net"
	"syscall"
	"testing"

	"github.com/vishvananda/netlink"
)

// The kernel has a default route to the stack, which is the other end of all connections: a
// user-mode network. It sees the errors of the far ends.
func TestKernelConnectsThroughAForwarder(t *testing.T) {
	p := kernelByTUN(t, false)
	p.onDevice(t, func(l netlink.Link) error {
		for _, all := range []string{"0.0.0.0/0", "::/0"} {
			_, to, _ := net.ParseCIDR(all)
			if err := netlink.RouteAdd(&netlink.Route{LinkIndex: l.Attrs().Index, Dst: to}); err != nil {
				return err
			}
		}
		return nil
	})
	far := map[string]error{"192.0.2.7:80": nil, "[2001:db8::7]:80": nil, "192.0.2.8:80": syscall.ECONNREFUSED, "[2001:db8::8]:80": syscall.ECONNREFUSED,
		"192.0.2.9:80": syscall.EHOSTUNREACH, "[2001:db8::9]:80": syscall.EHOSTUNREACH, "192.0.2.10:80": syscall.ENETUNREACH, "[2001:db8::a]:80": syscall.ENETUNREACH}
	p.stack.Forward(Forwarder{TCP: func(r *TCPRequest) {
		if err := far[r.To().String()]; err != nil {
			r.Reject(err)
			return
		}
		go func() {
			c, err := r.Accept(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			io.Copy(c, c) //nolint:errcheck // the kernel checks
			c.Close()
		}()
	}})
	for to, want := range far {
		var c net.Conn
		err := p.inside(func() (err error) { c, err = kernelDial(to); return err })
		if !errors.Is(err, want) {
			t.Errorf("connecting to %s: got %v, want %v", to, err, want)
		}
		if err != nil {
			continue
		}
		io.WriteString(c, "through")  //nolint:errcheck // the answer shows it
		c.(*net.TCPConn).CloseWrite() //nolint:errcheck // as above
		if got, err := io.ReadAll(c); err != nil || string(got) != "through" {
			t.Errorf("connected to %s: got %q, error %v, want the same text back", to, got, err)
		}
		c.Close()
	}
}
