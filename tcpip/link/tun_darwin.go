package link

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	familyIPv6     = FamilyIPv6Darwin
	protoControl   = 2 // SYSPROTO_CONTROL (sys/sys_domain.h), also the level of utun's options
	utunOptionName = 2 // UTUN_OPT_IFNAME (net/if_utun.h)
)

// openTun opens utunN, or the next free one if name is empty, and returns its name.
func openTun(name string) (fd int, opened string, err error) {
	unit := uint32(0) // the kernel chooses
	if name != "" {
		n, err := strconv.ParseUint(strings.TrimPrefix(name, "utun"), 10, 16)
		if err != nil || !strings.HasPrefix(name, "utun") {
			return -1, "", fmt.Errorf("link: a TUN device is called %q: write utun and a number, such as utun7, or nothing", name)
		}
		unit = uint32(n) + 1
	}
	fd, err = unix.Socket(unix.AF_SYSTEM, unix.SOCK_DGRAM, protoControl)
	if err != nil {
		return -1, "", os.NewSyscallError("socket", err)
	}
	unix.CloseOnExec(fd)
	if opened, err = attachUtun(fd, unit); err != nil {
		unix.Close(fd)
		return -1, "", fmt.Errorf("link: opening the utun device %s: %w: run it as root", name, err)
	}
	return fd, opened, nil
}

// attachUtun connects a control socket to a device and returns the device's name.
func attachUtun(fd int, unit uint32) (string, error) {
	var info unix.CtlInfo
	copy(info.Name[:], "com.apple.net.utun_control")
	if err := unix.IoctlCtlInfo(fd, &info); err != nil {
		return "", err
	}
	if err := unix.Connect(fd, &unix.SockaddrCtl{ID: info.Id, Unit: unit}); err != nil {
		return "", err
	}
	return unix.GetsockoptString(fd, protoControl, utunOptionName)
}

// getMTU returns the MTU of a device by a socket.
func getMTU(fd int, name string) (int, error) {
	request, err := unix.IoctlGetIfreqMTU(fd, name)
	if err != nil {
		return 0, err
	}
	return int(request.MTU), nil
}
