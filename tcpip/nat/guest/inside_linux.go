package guest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Inside is the helper: it makes the device of the config that control has, sends it, and becomes
// the command. Without a command it returns when the device is configured.
func Inside(control *os.File) error {
	unix.CloseOnExec(int(control.Fd()))
	fc, err := net.FileConn(control)
	if err != nil {
		return fmt.Errorf("guest: this command is for the helper of weir stack nat: %w", err)
	}
	control.Close()
	conn := fc.(*net.UnixConn)
	defer conn.Close()
	text := make([]byte, 64<<10)
	n, err := conn.Read(text)
	if err != nil {
		return err
	}
	var c Config
	if err := json.Unmarshal(text[:n], &c); err != nil {
		return err
	}
	device, err := c.setUp()
	if err != nil {
		conn.Write([]byte(err.Error())) //nolint:errcheck // the exit status tells too
		return ErrReported
	}
	if _, _, err = conn.WriteMsgUnix([]byte{'k'}, unix.UnixRights(int(device.Fd())), nil); err != nil {
		return err
	}
	device.Close()
	if len(c.Command) == 0 {
		return nil
	}
	if err := endWithParent(); err != nil {
		return err
	}
	if n, err := conn.Read(text); err != nil || n == 0 {
		return errors.New("guest: the network outside has ended")
	}
	return c.become()
}

// endWithParent has the system kill the command when the process outside ends. It is the thread
// that calls execve that keeps this wish, so the caller stays on it. A process outside that has
// ended before is found by the next read from it.
func endWithParent() error {
	runtime.LockOSThread() // never unlocked: the thread becomes the command
	return os.NewSyscallError("prctl", unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL), 0, 0, 0))
}

// become runs the command in place of this process.
func (c *Config) become() error {
	path, err := exec.LookPath(c.Command[0])
	if err != nil {
		return err
	}
	return fmt.Errorf("guest: running %s: %w", path, syscall.Exec(path, c.Command, os.Environ()))
}

// setUp makes the device and configures the namespace.
func (c *Config) setUp() (*os.File, error) {
	fd, err := c.open()
	if err != nil {
		return nil, err
	}
	device := os.NewFile(uintptr(fd), c.Device)
	if err := c.configure(); err != nil {
		return nil, errors.Join(err, device.Close())
	}
	if len(c.Command) > 0 && len(c.DNS) > 0 {
		if err := c.setResolver(); err != nil {
			return nil, errors.Join(fmt.Errorf("guest: replacing /etc/resolv.conf in the new namespace: %w", err), device.Close())
		}
	}
	return device, nil
}

// open makes the device.
func (c *Config) open() (int, error) {
	request, err := unix.NewIfreq(c.Device)
	if err != nil {
		return -1, fmt.Errorf("guest: %q is not a valid device name: use at most 15 bytes", c.Device)
	}
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return -1, fmt.Errorf("guest: opening /dev/net/tun: %w: load the tun driver (modprobe tun), and check the permissions", err)
	}
	kind := uint16(unix.IFF_TAP)
	if c.Tun {
		kind = unix.IFF_TUN
	}
	request.SetUint16(kind | unix.IFF_NO_PI | unix.IFF_VNET_HDR)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, request); err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("guest: making the device %s in the namespace: %w", c.Device, err)
	}
	return fd, nil
}

// configure configures the device and the loopback of the namespace.
func (c *Config) configure() error {
	lo, err := netlink.LinkByName("lo")
	if err == nil {
		err = netlink.LinkSetUp(lo)
	}
	if err != nil {
		return fmt.Errorf("guest: setting the loopback of the namespace up: %w", err)
	}
	l, err := netlink.LinkByName(c.Device)
	if err != nil {
		return err
	}
	if err := netlink.LinkSetMTU(l, c.MTU); err != nil {
		return fmt.Errorf("guest: an MTU of %d: %w", c.MTU, err)
	}
	if err := netlink.LinkSetTxQLen(l, 4096); err != nil {
		return err
	}
	for _, a := range c.Addrs {
		// it is the only host: no other one can have the address
		err := netlink.AddrAdd(l, &netlink.Addr{IPNet: ipNet(a), Flags: unix.IFA_F_NODAD})
		if err != nil && a.Addr().Is6() && hasNoIPv6(err) {
			c.Gateways = slices.DeleteFunc(c.Gateways, netip.Addr.Is6)
		} else if err != nil {
			return fmt.Errorf("guest: the address %v: %w", a, err)
		}
	}
	if err := netlink.LinkSetUp(l); err != nil {
		return err
	}
	for _, g := range c.Gateways {
		all := netip.PrefixFrom(netip.IPv6Unspecified(), 0)
		if g.Is4() {
			all = netip.PrefixFrom(netip.IPv4Unspecified(), 0)
		}
		if err := netlink.RouteAdd(&netlink.Route{LinkIndex: l.Attrs().Index, Dst: ipNet(all), Gw: g.AsSlice()}); err != nil {
			return fmt.Errorf("guest: the default route by %v: %w", g, err)
		}
	}
	return nil
}

// hasNoIPv6 reports whether an error is that of a namespace without IPv6: it was turned off.
func hasNoIPv6(err error) bool {
	return errors.Is(err, unix.EACCES) || errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EAFNOSUPPORT)
}

func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}

// setResolver replaces /etc/resolv.conf in this mount namespace.
func (c *Config) setResolver() error {
	const file = "/etc/resolv.conf"
	if _, err := os.Stat(file); err != nil {
		return nil // programs then ask the loopback of the namespace
	}
	var text strings.Builder
	for _, a := range c.DNS {
		fmt.Fprintf(&text, "nameserver %v\n", a)
	}
	f, err := os.CreateTemp("", "resolv.conf-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // the mount keeps it
	_, err = f.WriteString(text.String())
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return os.NewSyscallError("mount", err)
	}
	return os.NewSyscallError("mount", unix.Mount(f.Name(), file, "", unix.MS_BIND, ""))
}
