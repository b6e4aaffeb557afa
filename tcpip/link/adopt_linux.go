package link

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// AdoptConfig describes an open device.
type AdoptConfig struct {
	MTU int // its MTU in bytes; default 1,500
}

// Adopt returns the link of a TAP or TUN device that is open: one that was inherited, or received
// over a socket, and may be in another network namespace. It takes the descriptor over, also after
// an error. The device has superframes if it was opened with virtio headers (IFF_VNET_HDR).
func Adopt(f *os.File, c AdoptConfig) (*Tap, error) {
	defer f.Close()
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	t, err := adopt(fd, c)
	if err != nil {
		unix.Close(fd)
	}
	return t, err
}

func adopt(fd int, c AdoptConfig) (*Tap, error) {
	request, err := unix.NewIfreq("")
	if err == nil {
		err = unix.IoctlIfreq(fd, unix.TUNGETIFF, request)
	}
	if err != nil {
		return nil, fmt.Errorf("link: the descriptor is no TAP or TUN device: %w: open /dev/net/tun and attach it first", err)
	}
	flags, m := request.Uint16(), Ethernet
	if flags&unix.IFF_TUN != 0 {
		m = IP
	}
	if flags&unix.IFF_NO_PI == 0 {
		return nil, fmt.Errorf("link: the device %s was opened with packet information: set IFF_NO_PI", request.Name())
	}
	plain := flags&unix.IFF_VNET_HDR == 0
	if err := unix.SetNonblock(fd, true); err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	if err := setOffloads(fd, plain); err != nil {
		return nil, fmt.Errorf("link: setting the offloads of %s: %w", request.Name(), err)
	}
	wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, os.NewSyscallError("eventfd", err)
	}
	t := &Tap{name: request.Name(), caps: Caps{Medium: m, Queues: 1, MTU: c.MTU}}
	if c.MTU == 0 {
		t.caps.MTU = 1500
	}
	if m == Ethernet {
		t.caps.MAC = macOf(t.name + " gateway")
	}
	if !plain {
		t.caps.Superframe, t.caps.Checksum = maxSuperframe, true
	}
	t.queues = []*tapQueue{{fd: fd, wakeFD: wake, plain: plain, name: t.name, caps: t.caps}}
	return t, nil
}
