package link

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// Setup makes a TAP device ready on the kernel's side: it makes the namespace and the device if
// they are not there, sets what the config says, and has the device up. It needs CAP_NET_ADMIN, and
// CAP_SYS_ADMIN for a namespace. What undo does leaves things as they were: what Setup made is
// gone, what it changed is put back, and what was there before stays. After an error nothing is
// left.
//
// The device outlives its users until undo is called: open it by OpenTap with the same Namespace.
// undo may be called once, by any goroutine, after the device was closed.
func Setup(c SetupConfig) (undo func() error, err error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	var outer, inner steps
	undo = func() error {
		return errors.Join(inNamespace(c.Namespace, inner.back), outer.back())
	}
	if err := makeNamespace(c.Namespace, &outer); err != nil {
		return nil, err
	}
	if err := inNamespace(c.Namespace, func() error { return setup(&c, &inner) }); err != nil {
		return nil, errors.Join(err, undo())
	}
	return undo, nil
}

// makeNamespace makes a named namespace, with its loopback up, if it is not there.
func makeNamespace(name string, s *steps) error {
	file := filepath.Join("/run/netns", name)
	if _, err := os.Stat(file); name == "" || err == nil {
		return nil
	}
	err := onThread(func() error {
		h, err := netns.NewNamed(name)
		if err != nil {
			return err
		}
		defer h.Close()
		lo, err := netlink.LinkByName("lo")
		if err != nil {
			return errors.Join(err, netns.DeleteNamed(name))
		}
		if err := netlink.LinkSetUp(lo); err != nil {
			return errors.Join(err, netns.DeleteNamed(name))
		}
		return nil
	})
	if err != nil {
		os.Remove(file) //nolint:errcheck // where mounting failed, the file is left; where it did not, it is in use
		return fmt.Errorf("link: making the network namespace %q: %w: it needs CAP_SYS_ADMIN", name, err)
	}
	s.done(func() error { return netns.DeleteNamed(name) })
	return nil
}

// setup does what is to be done in the namespace.
func setup(c *SetupConfig, s *steps) error {
	tap, err := device(c, s)
	if err != nil {
		return err
	}
	if err := shape(tap, c, s); err != nil {
		return err
	}
	addressed := tap
	if c.Bridge != "" {
		if addressed, err = bridge(tap, c, s); err != nil {
			return err
		}
	}
	if err := address(addressed, c.Addr, s); err != nil {
		return err
	}
	return up(tap, s)
}

// device finds the TAP device, or makes it.
func device(c *SetupConfig, s *steps) (netlink.Link, error) {
	tap, err := netlink.LinkByName(c.Tap)
	if err == nil {
		if found, ok := tap.(*netlink.Tuntap); !ok || found.Mode != netlink.TUNTAP_MODE_TAP {
			return nil, fmt.Errorf("link: %s is there and is no TAP device: name another one", c.Tap)
		}
		return tap, nil
	}
	if !errors.As(err, new(netlink.LinkNotFoundError)) {
		return nil, fmt.Errorf("link: looking for %s: %w", c.Tap, err)
	}
	flags := uint16(unix.IFF_TAP | unix.IFF_NO_PI)
	if c.Queues > 1 {
		flags |= unix.IFF_MULTI_QUEUE
	}
	fd, _, err := attach(c.Tap, flags)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	if err := unix.IoctlSetInt(fd, unix.TUNSETPERSIST, 1); err != nil {
		return nil, fmt.Errorf("link: having %s outlive its users: %w", c.Tap, err)
	}
	if tap, err = netlink.LinkByName(c.Tap); err != nil {
		return nil, errors.Join(fmt.Errorf("link: looking for %s: %w", c.Tap, err), unix.IoctlSetInt(fd, unix.TUNSETPERSIST, 0))
	}
	s.done(func() error { return gone(netlink.LinkDel(tap)) })
	return tap, nil
}

// gone takes it for done that nothing is there any more to be undone.
func gone(err error) error {
	if errors.Is(err, unix.ENODEV) || errors.Is(err, unix.EADDRNOTAVAIL) {
		return nil
	}
	return err
}

// shape sets the device's MTU and the length of its queue.
func shape(tap netlink.Link, c *SetupConfig, s *steps) error {
	before := *tap.Attrs()
	if c.MTU != 0 && c.MTU != before.MTU {
		if err := netlink.LinkSetMTU(tap, c.MTU); err != nil {
			return fmt.Errorf("link: setting the MTU of %s to %d: %w: a TAP device takes 68 to 65,521", c.Tap, c.MTU, err)
		}
		s.done(func() error { return gone(netlink.LinkSetMTU(tap, before.MTU)) })
	}
	length := c.QueueLen
	if length == 0 {
		length = max(queueLen, before.TxQLen)
	}
	if length != before.TxQLen {
		if err := netlink.LinkSetTxQLen(tap, length); err != nil {
			return fmt.Errorf("link: setting the queue of %s to %d frames: %w: ask for fewer", c.Tap, length, err)
		}
		s.done(func() error { return gone(netlink.LinkSetTxQLen(tap, before.TxQLen)) })
	}
	return nil
}

// address gives an interface an address, if it has it not.
func address(l netlink.Link, p netip.Prefix, s *steps) error {
	if !p.IsValid() {
		return nil
	}
	want := &netlink.Addr{IPNet: &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}}
	err := netlink.AddrAdd(l, want)
	if errors.Is(err, unix.EEXIST) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("link: giving %s the address %s: %w", l.Attrs().Name, p, err)
	}
	s.done(func() error { return gone(netlink.AddrDel(l, want)) })
	return nil
}

// up starts an interface, if it is not.
func up(l netlink.Link, s *steps) error {
	if l.Attrs().Flags&net.FlagUp != 0 {
		return nil
	}
	if err := netlink.LinkSetUp(l); err != nil {
		return fmt.Errorf("link: starting %s: %w", l.Attrs().Name, err)
	}
	s.done(func() error { return gone(netlink.LinkSetDown(l)) })
	return nil
}

// bridge makes a bridge with the device and the other interface in it.
func bridge(tap netlink.Link, c *SetupConfig, s *steps) (netlink.Link, error) {
	other, err := bridgeable(c.Bridge)
	if err != nil {
		return nil, err
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name = bridgeName(c.Tap)
	if err := netlink.LinkAdd(&netlink.Bridge{LinkAttrs: attrs}); err != nil {
		return nil, fmt.Errorf("link: making the bridge %s: %w: if it is there already, remove it (ip link del %s)", attrs.Name, err, attrs.Name)
	}
	b, err := netlink.LinkByName(attrs.Name)
	if err != nil {
		return nil, fmt.Errorf("link: looking for %s: %w", attrs.Name, err)
	}
	s.done(func() error { return gone(netlink.LinkDel(b)) })
	for _, port := range []netlink.Link{tap, other} {
		if err := netlink.LinkSetMaster(port, b); err != nil {
			return nil, fmt.Errorf("link: taking %s into the bridge %s: %w", port.Attrs().Name, attrs.Name, err)
		}
		s.done(func() error { return gone(netlink.LinkSetNoMaster(port)) })
	}
	return b, errors.Join(up(other, s), up(b, s))
}

// bridgeable finds an interface that loses nothing in a bridge: what is in one has no use for
// addresses of its own.
func bridgeable(name string) (netlink.Link, error) {
	l, err := netlink.LinkByName(name)
	if err != nil {
		return nil, fmt.Errorf("link: looking for %s, to put it into a bridge: %w", name, err)
	}
	if l.Attrs().MasterIndex != 0 {
		return nil, fmt.Errorf("link: %s is in a bridge already: name another interface, or take it out (ip link set %s nomaster)", name, name)
	}
	addrs, err := netlink.AddrList(l, netlink.FAMILY_ALL)
	if err != nil {
		return nil, fmt.Errorf("link: asking for the addresses of %s: %w", name, err)
	}
	for _, a := range addrs {
		if !a.IP.IsLinkLocalUnicast() {
			return nil, fmt.Errorf("link: %s has the address %s, which would no longer be reached in a bridge: take it away first, and give it to the bridge", name, a.IPNet)
		}
	}
	return l, nil
}
