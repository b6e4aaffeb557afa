package link

import (
	"bytes"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	familyIPv6  = FamilyIPv6FreeBSD
	tunSetHead  = 0x80047460 // TUNSIFHEAD (net/if_tun.h): an address family before each packet
	tunGetName  = 0x4020745d // TUNGIFNAME
	ioctlGetMTU = 0xc0206933 // SIOCGIFMTU (sys/sockio.h)
)

// ifreq is struct ifreq (net/if.h).
type ifreq struct {
	name  [unix.IFNAMSIZ]byte
	value [16]byte // a union: the MTU is its first four bytes
}

// openTun opens /dev/tunN, or the next free device if name is empty, and returns its name.
func openTun(name string) (fd int, opened string, err error) {
	path := "/dev/tun"
	if name != "" {
		path = "/dev/" + name
	}
	if fd, err = unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC, 0); err != nil {
		return -1, "", fmt.Errorf("link: opening %s: %w: load if_tuntap, and run it as root", path, err)
	}
	head := int32(1)
	var request ifreq
	err = ioctl(fd, tunSetHead, unsafe.Pointer(&head))
	if err == nil {
		err = ioctl(fd, tunGetName, unsafe.Pointer(&request))
	}
	if err != nil {
		unix.Close(fd)
		return -1, "", fmt.Errorf("link: %s is no TUN device: %w", path, err)
	}
	before, _, _ := bytes.Cut(request.name[:], []byte{0})
	return fd, string(before), nil
}

// getMTU returns the MTU of a device by a socket.
func getMTU(fd int, name string) (int, error) {
	var request ifreq
	copy(request.name[:], name)
	if err := ioctl(fd, ioctlGetMTU, unsafe.Pointer(&request)); err != nil {
		return 0, err
	}
	return int(*(*int32)(unsafe.Pointer(&request.value))), nil
}

func ioctl(fd int, request uintptr, argument unsafe.Pointer) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(argument)); errno != 0 {
		return errno
	}
	return nil
}
