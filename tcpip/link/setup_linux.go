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

// Setup prepares a TAP or TUN device on the kernel's side. It makes the namespace and the device if
// they do not exist, configures them, and sets the device up. It needs CAP_NET_ADMIN, and
// CAP_SYS_ADMIN for a namespace. undo restores the previous state: it removes what Setup made and
// resets what it changed. After an error nothing is left.
//
// The device persists until undo is called: open it by OpenTap or OpenTun with the same Namespace.
// undo may be called once, by any goroutine, after the device was closed.
func Setup(c SetupConfig) (undo func() error, err error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	var outer, inner undoStack
	undo = func() error {
		return errors.Join(inNamespace(c.Namespace, inner.undoAll), outer.undoAll())
	}
	if err := makeNamespace(c.Namespace, &outer); err != nil {
		return nil, err
	}
	if err := inNamespace(c.Namespace, func() error { return setupInNamespace(&c, &inner) }); err != nil {
		return nil, errors.Join(err, undo())
	}
	return undo, nil
}

// makeNamespace makes a named namespace, with its loopback up, if it does not exist.
func makeNamespace(name string, s *undoStack) error {
	file := filepath.Join("/run/netns", name)
	if _, err := os.Stat(file); name == "" || err == nil {
		return nil
	}
	err := onOwnThread(func() error { // NewNamed moves its thread to the new namespace
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
		// if NewNamed could not mount the namespace, it left an empty file, which would pass for a
		// namespace. A file with a mount cannot be removed, and need not be
		os.Remove(file) //nolint:errcheck // it may not exist
		return fmt.Errorf("link: making the network namespace %q: %w: it needs CAP_SYS_ADMIN", name, err)
	}
	s.push(func() error { return netns.DeleteNamed(name) })
	return nil
}

// setupInNamespace does the part of Setup that is in the namespace.
func setupInNamespace(c *SetupConfig, s *undoStack) error {
	tap, err := findOrMakeTap(c, s)
	if err != nil {
		return err
	}
	if err := setMTUAndQueueLen(tap, c, s); err != nil {
		return err
	}
	addressed := tap
	if c.Bridge != "" {
		if addressed, err = makeBridge(tap, c, s); err != nil {
			return err
		}
	}
	for _, a := range c.Addrs {
		if err := addAddr(addressed, a, c.Bridge == "", s); err != nil {
			return err
		}
	}
	return setUp(tap, s)
}

// findOrMakeTap finds the TAP device, or makes it.
func findOrMakeTap(c *SetupConfig, s *undoStack) (netlink.Link, error) {
	tap, err := netlink.LinkByName(c.Tap)
	if err == nil {
		if found, ok := tap.(*netlink.Tuntap); !ok || int(found.Mode) != modeOf(c.Medium) {
			return nil, fmt.Errorf("link: %s exists and is not a %s device: use another name", c.Tap, kindOf(uint16(modeOf(c.Medium))))
		}
		return tap, nil
	}
	if !errors.As(err, new(netlink.LinkNotFoundError)) {
		return nil, fmt.Errorf("link: looking for %s: %w", c.Tap, err)
	}
	flags := uint16(modeOf(c.Medium) | unix.IFF_NO_PI)
	if c.Queues > 1 {
		flags |= unix.IFF_MULTI_QUEUE
	}
	fd, _, err := attach(c.Tap, flags)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	if err := unix.IoctlSetInt(fd, unix.TUNSETPERSIST, 1); err != nil {
		return nil, fmt.Errorf("link: making %s persistent: %w", c.Tap, err)
	}
	if tap, err = netlink.LinkByName(c.Tap); err != nil {
		return nil, errors.Join(fmt.Errorf("link: looking for %s: %w", c.Tap, err), unix.IoctlSetInt(fd, unix.TUNSETPERSIST, 0))
	}
	s.push(func() error { return ignoreGone(netlink.LinkDel(tap)) })
	return tap, nil
}

// ignoreGone returns nil for an error which says that the object to undo no longer exists.
func ignoreGone(err error) error {
	if errors.Is(err, unix.ENODEV) || errors.Is(err, unix.EADDRNOTAVAIL) {
		return nil
	}
	return err
}

// setMTUAndQueueLen sets the device's MTU and the length of its queue.
func setMTUAndQueueLen(tap netlink.Link, c *SetupConfig, s *undoStack) error {
	before := *tap.Attrs()
	if c.MTU != 0 && c.MTU != before.MTU {
		if err := netlink.LinkSetMTU(tap, c.MTU); err != nil {
			return fmt.Errorf("link: setting the MTU of %s to %d: %w: use 68 to 65,521", c.Tap, c.MTU, err)
		}
		s.push(func() error { return ignoreGone(netlink.LinkSetMTU(tap, before.MTU)) })
	}
	length := c.QueueLen
	if length == 0 {
		length = max(defaultQueueLen, before.TxQLen)
	}
	if length != before.TxQLen {
		if err := netlink.LinkSetTxQLen(tap, length); err != nil {
			return fmt.Errorf("link: setting the queue of %s to %d frames: %w: use fewer", c.Tap, length, err)
		}
		s.push(func() error { return ignoreGone(netlink.LinkSetTxQLen(tap, before.TxQLen)) })
	}
	return nil
}

// addAddr adds an address to an interface, unless it has it. On a link that the stack is alone
// on, an IPv6 address may be used at once: the stack probes for its own.
func addAddr(l netlink.Link, p netip.Prefix, alone bool, s *undoStack) error {
	want := &netlink.Addr{IPNet: &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}}
	if p.Addr().Is6() && alone {
		want.Flags = unix.IFA_F_NODAD
	}
	err := netlink.AddrAdd(l, want)
	if errors.Is(err, unix.EEXIST) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("link: adding to %s the address %s: %w", l.Attrs().Name, p, err)
	}
	s.push(func() error { return ignoreGone(netlink.AddrDel(l, want)) })
	return nil
}

// setUp sets an interface up, unless it is.
func setUp(l netlink.Link, s *undoStack) error {
	if l.Attrs().Flags&net.FlagUp != 0 {
		return nil
	}
	if err := netlink.LinkSetUp(l); err != nil {
		return fmt.Errorf("link: setting %s up: %w", l.Attrs().Name, err)
	}
	s.push(func() error { return ignoreGone(netlink.LinkSetDown(l)) })
	return nil
}

// makeBridge makes a bridge, with two ports: the TAP device and the interface c.Bridge.
func makeBridge(tap netlink.Link, c *SetupConfig, s *undoStack) (netlink.Link, error) {
	other, err := findBridgePort(c.Bridge)
	if err != nil {
		return nil, err
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name = bridgeName(c.Tap)
	if err := netlink.LinkAdd(&netlink.Bridge{LinkAttrs: attrs}); err != nil {
		return nil, fmt.Errorf("link: making the bridge %s: %w: if it exists, remove it (ip link del %s)", attrs.Name, err, attrs.Name)
	}
	b, err := netlink.LinkByName(attrs.Name)
	if err != nil {
		return nil, fmt.Errorf("link: looking for %s: %w", attrs.Name, err)
	}
	s.push(func() error { return ignoreGone(netlink.LinkDel(b)) })
	for _, port := range []netlink.Link{tap, other} {
		if err := netlink.LinkSetMaster(port, b); err != nil {
			return nil, fmt.Errorf("link: adding %s to the bridge %s: %w", port.Attrs().Name, attrs.Name, err)
		}
		s.push(func() error { return ignoreGone(netlink.LinkSetNoMaster(port)) })
	}
	return b, errors.Join(setUp(other, s), setUp(b, s))
}

// findBridgePort finds an interface that may join a bridge. It must have no addresses other than
// link-local ones, because an interface in a bridge does not use them.
func findBridgePort(name string) (netlink.Link, error) {
	l, err := netlink.LinkByName(name)
	if err != nil {
		return nil, fmt.Errorf("link: looking for %s, to add it to a bridge: %w", name, err)
	}
	if l.Attrs().MasterIndex != 0 {
		return nil, fmt.Errorf("link: %s is in a bridge already: use another interface, or remove it from there (ip link set %s nomaster)", name, name)
	}
	addrs, err := netlink.AddrList(l, netlink.FAMILY_ALL)
	if err != nil {
		return nil, fmt.Errorf("link: reading the addresses of %s: %w", name, err)
	}
	for _, a := range addrs {
		if !a.IP.IsLinkLocalUnicast() {
			return nil, fmt.Errorf("link: %s has the address %s, which would be unreachable in a bridge: remove it first, and add it to the bridge", name, a.IPNet)
		}
	}
	return l, nil
}
