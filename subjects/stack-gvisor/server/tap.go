package main

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// vnetHeader is the length of a virtio-net header.
const vnetHeader = 10

// openTap opens the device, blocking: a reader that sleeps in an ordinary system call gives its processor to others at once.
func openTap(name string, offload bool) (int, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("opening /dev/net/tun: %w", err)
	}
	request, err := unix.NewIfreq(name)
	if err != nil {
		return -1, fmt.Errorf("%q is no name of a device", name)
	}
	flags, asked := uint16(unix.IFF_TAP|unix.IFF_NO_PI), 0
	if offload {
		flags |= unix.IFF_VNET_HDR
		asked = unix.TUN_F_CSUM | unix.TUN_F_TSO4 | unix.TUN_F_TSO_ECN
	}
	request.SetUint16(flags)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, request); err != nil {
		return -1, fmt.Errorf("taking the device %s: %w", name, err)
	}
	if offload {
		if err := unix.IoctlSetPointerInt(fd, unix.TUNSETVNETHDRSZ, vnetHeader); err != nil {
			return -1, fmt.Errorf("setting the length of headers: %w", err)
		}
	}
	if err := unix.IoctlSetInt(fd, unix.TUNSETOFFLOAD, asked); err != nil {
		return -1, fmt.Errorf("asking %s for offloads: %w", name, err)
	}
	return fd, nil
}
