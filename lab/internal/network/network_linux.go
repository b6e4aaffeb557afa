package network

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"weir/tcpip/link"
)

func cable(name string, a addresses) (*Network, error) {
	n := &Network{Subject: name + "s", Peer: name + "l", Addr: a.subject}
	n.removeAll = n.remove
	if err := onThread(func() error { return n.connectNamespaces(a) }); err != nil {
		return nil, errors.Join(err, n.remove())
	}
	return n, nil
}

func tap(name string, a addresses) (*Network, error) {
	n := &Network{Subject: name, Peer: name, Tap: tapName, Addr: a.subject}
	undo, err := link.Setup(link.SetupConfig{Tap: tapName, Namespace: name, Addrs: []netip.Prefix{a.peer}})
	if err != nil {
		return nil, err
	}
	n.removeAll = undo
	if err := In(name, loopbackUp); err != nil {
		return nil, errors.Join(err, undo())
	}
	return n, nil
}

// connectNamespaces makes the two namespaces and the cable. It leaves its thread in one of them.
func (n *Network) connectNamespaces(a addresses) error {
	subject, err := netns.NewNamed(n.Subject)
	if err != nil {
		return err
	}
	defer subject.Close()
	peer, err := netns.NewNamed(n.Peer)
	if err != nil {
		return err
	}
	defer peer.Close()
	// The thread is in the namespace of the peer: the veth pair is created there, and the other end
	// moved.
	cable := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "weir0"}, PeerName: "weir1"}
	if err := netlink.LinkAdd(cable); err != nil {
		return err
	}
	far, err := netlink.LinkByName("weir1")
	if err != nil {
		return err
	}
	if err := netlink.LinkSetNsFd(far, int(subject)); err != nil {
		return err
	}
	if err := bringUp("weir0", a.peer); err != nil {
		return err
	}
	if err := netns.Set(subject); err != nil {
		return err
	}
	return bringUp("weir1", a.subject)
}

// bringUp sets the address of a link, and brings it and the loopback of the current namespace up.
func bringUp(name string, addr netip.Prefix) error {
	l, err := netlink.LinkByName(name)
	if err != nil {
		return err
	}
	network := &net.IPNet{IP: addr.Addr().AsSlice(), Mask: net.CIDRMask(addr.Bits(), addr.Addr().BitLen())}
	own := &netlink.Addr{IPNet: network}
	if addr.Addr().Is6() {
		own.Flags = unix.IFA_F_NODAD // it is used at once: the cable has no other host
	}
	if err := netlink.AddrAdd(l, own); err != nil {
		return err
	}
	return errors.Join(loopbackUp(), netlink.LinkSetUp(l))
}

func loopbackUp() error {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return err
	}
	return netlink.LinkSetUp(lo)
}

// remove deletes both namespaces, and with them the veth pair.
func (n *Network) remove() error {
	var errs []error
	for _, name := range n.Namespaces() {
		if h, err := netns.GetFromName(name); err == nil {
			h.Close()
			errs = append(errs, netns.DeleteNamed(name))
		}
	}
	return errors.Join(errs...)
}

// In calls do in a namespace, on a new thread. Sockets that do opens stay in the namespace.
func In(name string, do func() error) error {
	return onThread(func() error {
		h, err := netns.GetFromName(name)
		if err != nil {
			return err
		}
		defer h.Close()
		if err := netns.Set(h); err != nil {
			return err
		}
		return do()
	})
}

// onThread calls do in a goroutine that is locked to a new thread, which ends with it.
func onThread(do func() error) error {
	done := make(chan error, 1) // goroutine below -> here: one result
	go func() {
		runtime.LockOSThread() // never unlocked, so the thread ends with the goroutine
		done <- do()
	}()
	return <-done
}

const sysctls = "/proc/sys/net/ipv4"

// Setting reads a sysctl of net.ipv4 in a namespace, such as tcp_congestion_control; "" if it
// cannot be read.
func Setting(namespace, name string) (value string) {
	err := In(namespace, func() error {
		b, err := os.ReadFile(filepath.Join(sysctls, name))
		value = strings.TrimSpace(string(b))
		return err
	})
	if err != nil {
		return ""
	}
	return value
}

// Set writes a sysctl of net.ipv4 in every namespace of n.
func (n *Network) Set(name, value string) error {
	var errs []error
	for _, namespace := range n.Namespaces() {
		errs = append(errs, In(namespace, func() error { return os.WriteFile(filepath.Join(sysctls, name), []byte(value), 0) }))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("cannot set %s to %q: %w", name, value, err)
	}
	return nil
}
