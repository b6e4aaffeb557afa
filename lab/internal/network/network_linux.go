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

	"weir/tcpip/link"
)

// Cable makes the namespaces name+"s" and name+"l", joined by a veth pair: both ends are a
// kernel's. An error leaves nothing behind.
func Cable(name string) (*Network, error) {
	n := &Network{Subject: name + "s", Peer: name + "l", Addr: cableSubject}
	n.undo = n.remove
	if err := onThread(n.lay); err != nil {
		return nil, errors.Join(err, n.remove())
	}
	return n, nil
}

// Tap makes the namespace name, and in it a TAP device whose kernel's side has an address: the
// other side is a stack's in user space. An error leaves nothing behind.
func Tap(name string) (*Network, error) {
	n := &Network{Subject: name, Peer: name, Tap: tapName, Addr: tapSubject}
	undo, err := link.Setup(link.SetupConfig{Tap: tapName, Namespace: name, Addr: tapPeer})
	if err != nil {
		return nil, err
	}
	n.undo = undo
	if err := In(name, loopbackUp); err != nil {
		return nil, errors.Join(err, undo())
	}
	return n, nil
}

// lay makes the two namespaces and the cable. It leaves its thread in one of them.
func (n *Network) lay() error {
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
	// The thread stands in peer now: the cable is made here and its other end passed over.
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
	if err := bringUp("weir0", cablePeer); err != nil {
		return err
	}
	if err := netns.Set(subject); err != nil {
		return err
	}
	return bringUp("weir1", cableSubject)
}

// bringUp gives the link its address and starts it and the loopback of the current namespace.
func bringUp(name string, addr netip.Prefix) error {
	l, err := netlink.LinkByName(name)
	if err != nil {
		return err
	}
	network := &net.IPNet{IP: addr.Addr().AsSlice(), Mask: net.CIDRMask(addr.Bits(), 32)}
	if err := netlink.AddrAdd(l, &netlink.Addr{IPNet: network}); err != nil {
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

// remove takes both namespaces away, and the cable with them.
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

// In calls do in a namespace, on a thread of its own: sockets that it makes stay in there.
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

// onThread calls do in a goroutine whose thread is nobody else's and ends with it.
func onThread(do func() error) error {
	done := make(chan error, 1) // the goroutine below -> here: one answer
	go func() {
		runtime.LockOSThread() // and never unlocked: so the thread ends
		done <- do()
	}()
	return <-done
}

const sysctls = "/proc/sys/net/ipv4"

// Setting reads a setting of TCP/IP in a namespace, such as tcp_congestion_control; empty where it
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

// Set changes a setting of TCP/IP in every namespace of n.
func (n *Network) Set(name, value string) error {
	var errs []error
	for _, namespace := range n.Namespaces() {
		errs = append(errs, In(namespace, func() error { return os.WriteFile(filepath.Join(sysctls, name), []byte(value), 0) }))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("setting %s to %q: %w", name, value, err)
	}
	return nil
}
