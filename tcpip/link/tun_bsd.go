//go:build darwin || freebsd

package link

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// OpenTun opens a TUN device: utun on macOS, tun on FreeBSD. It needs root. It carries IP packets,
// has one queue, and no offloads: segments are cut and checksums completed before they are written.
// Addresses are set by ifconfig. Built and vetted, but not run: Weir is tested on Linux.
func OpenTun(c TapConfig) (*Tap, error) {
	if c.Queues > 1 || c.Namespace != "" {
		return nil, errors.New("link: a TUN device of this system has one queue and no namespace: leave Queues and Namespace out")
	}
	fd, name, err := openTun(c.Name)
	if err != nil {
		return nil, err
	}
	mtu := c.MTU
	if mtu == 0 {
		if mtu, err = deviceMTU(name); err != nil {
			return nil, errors.Join(err, unix.Close(fd))
		}
	}
	if err := unix.SetNonblock(fd, true); err != nil { // so that Close ends Read
		return nil, errors.Join(os.NewSyscallError("fcntl", err), unix.Close(fd))
	}
	file := os.NewFile(uintptr(fd), name)
	l, err := Over(WithFamily(file, familyIPv6), OverConfig{Medium: IP, MTU: mtu})
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &Tap{Link: l, name: name}, nil
}

// deviceMTU returns the MTU of a device.
func deviceMTU(name string) (int, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return 0, os.NewSyscallError("socket", err)
	}
	defer unix.Close(fd)
	mtu, err := getMTU(fd, name)
	return mtu, os.NewSyscallError("ioctl SIOCGIFMTU", err)
}
