package lab

import (
	"errors"
	"net"
	"runtime"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
)

// vethPair is two network namespaces joined by a virtual cable. The addresses are from the range that
// RFC 2544 sets aside for measuring networks (198.18.0.0/15).
type vethPair struct {
	server, load string // names under /run/netns
	serverAddr   string
}

const (
	vethServerAddr = "198.18.0.2"
	vethLoadAddr   = "198.18.0.1"
)

// newVethPair makes the namespaces prefix+"s" and prefix+"l". An error leaves nothing behind.
func newVethPair(prefix string) (*vethPair, error) {
	p := &vethPair{server: prefix + "s", load: prefix + "l", serverAddr: vethServerAddr}
	if err := p.build(); err != nil {
		return nil, errors.Join(err, p.remove())
	}
	return p, nil
}

func (p *vethPair) build() error {
	// Making a namespace moves the calling thread into it, so the thread is thrown away afterwards: a
	// goroutine that ends locked takes its thread along.
	failed := make(chan error, 1) // one answer, from the goroutine below
	go func() {
		runtime.LockOSThread()
		failed <- p.buildOnThread()
	}()
	return <-failed
}

func (p *vethPair) buildOnThread() error {
	server, err := netns.NewNamed(p.server)
	if err != nil {
		return err
	}
	defer server.Close()
	load, err := netns.NewNamed(p.load)
	if err != nil {
		return err
	}
	defer load.Close()
	// The thread stands in load now: the cable is made here and its other end passed over.
	cable := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "weir0"}, PeerName: "weir1"}
	if err := netlink.LinkAdd(cable); err != nil {
		return err
	}
	far, err := netlink.LinkByName("weir1")
	if err != nil {
		return err
	}
	if err := netlink.LinkSetNsFd(far, int(server)); err != nil {
		return err
	}
	if err := bringUp("weir0", vethLoadAddr); err != nil {
		return err
	}
	if err := netns.Set(server); err != nil {
		return err
	}
	return bringUp("weir1", vethServerAddr)
}

// bringUp gives the link its address and starts it and the loopback of the current namespace.
func bringUp(link, addr string) error {
	l, err := netlink.LinkByName(link)
	if err != nil {
		return err
	}
	network := &net.IPNet{IP: net.ParseIP(addr).To4(), Mask: net.CIDRMask(30, 32)}
	if err := netlink.AddrAdd(l, &netlink.Addr{IPNet: network}); err != nil {
		return err
	}
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return err
	}
	return errors.Join(netlink.LinkSetUp(lo), netlink.LinkSetUp(l))
}

// congestionIn is the TCP congestion control that connections in a namespace begin with; a new namespace need
// not have the host's. It is empty where it cannot be read.
func congestionIn(name string) string {
	found := make(chan string, 1) // one answer, from the goroutine below
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine, and nobody else gets it
		defer close(found)
		h, err := netns.GetFromName(name)
		if err != nil {
			return
		}
		defer h.Close()
		if netns.Set(h) == nil {
			found <- firstLine(congestionFile)
		}
	}()
	return <-found
}

// remove takes both namespaces away, and the cable with them.
func (p *vethPair) remove() error {
	var errs []error
	for _, name := range []string{p.server, p.load} {
		if h, err := netns.GetFromName(name); err == nil {
			h.Close()
			errs = append(errs, netns.DeleteNamed(name))
		}
	}
	return errors.Join(errs...)
}
