package stackload

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"unsafe"
	"weir/lab/load"

	"golang.org/x/sys/unix"
)

// tcpInfo reads TCP_INFO of a connection. Fields that the kernel does not have stay 0.
func tcpInfo(fd int32, info *unix.TCPInfo) {
	size := uint32(unsafe.Sizeof(*info))
	syscall.RawSyscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.IPPROTO_TCP, unix.TCP_INFO, uintptr(unsafe.Pointer(info)), uintptr(unsafe.Pointer(&size)), 0)
}

func segmentsOf(info *unix.TCPInfo) segments {
	return segments{out: int64(info.Segs_out), in: int64(info.Segs_in), again: int64(info.Total_retrans)}
}

// setCongestion sets the congestion control of a socket.
func setCongestion(fd int, name string) error {
	return unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, name)
}

// checkCongestion returns an error if sockets here cannot use the congestion control.
func checkCongestion(name string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("load: cannot open a socket: %w", err)
	}
	defer unix.Close(fd) //nolint:errcheck // nothing is lost
	switch err := setCongestion(fd, name); {
	case errors.Is(err, unix.ENOENT):
		return load.UsageError(fmt.Sprintf("this kernel has no congestion control %q: it has %s; load its module (modprobe tcp_%s) or choose another", name, controls("available"), name))
	case errors.Is(err, unix.EPERM):
		return load.UsageError(fmt.Sprintf("the congestion control %q is allowed only for root (net.ipv4.tcp_allowed_congestion_control): choose one of %s, or run as root", name, controls("allowed")))
	case err != nil:
		return fmt.Errorf("load: can't set the congestion control %q: %w", name, err)
	}
	return nil
}

// controls lists the "available" or "allowed" congestion controls.
func controls(which string) string {
	text, err := os.ReadFile("/proc/sys/net/ipv4/tcp_" + which + "_congestion_control")
	if err != nil {
		return "others"
	}
	return strings.Join(strings.Fields(string(text)), ", ")
}

// receiveAway receives at most the given number of bytes from a non-blocking socket, and drops them
// in the kernel.
func receiveAway(fd int32, most int) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), 0, uintptr(most), unix.MSG_TRUNC, 0, 0)
	return int(n), errno
}
