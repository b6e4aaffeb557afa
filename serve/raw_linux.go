//go:build !race

package serve

import (
	"net"
	"syscall"
	"unsafe"
)

// rawRead and rawWrite do not notify the scheduler: they are for descriptors that never block.
func rawRead(fd int, p []byte) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall(syscall.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	return int(n), errno
}

func rawWrite(fd int, p []byte) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall(syscall.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	return int(n), errno
}

// rawClose closes a descriptor whose close does not wait: of a socket without SO_LINGER.
func rawClose(fd int) { syscall.RawSyscall(syscall.SYS_CLOSE, uintptr(fd), 0, 0) }

// rawAccept accepts a connection of a listener that does not block. Its socket does not block
// either.
func rawAccept(listener int) (fd int, peer net.Addr, errno syscall.Errno) {
	var from syscall.RawSockaddrAny
	size := uint32(syscall.SizeofSockaddrAny)
	n, _, errno := syscall.RawSyscall6(syscall.SYS_ACCEPT4, uintptr(listener), uintptr(unsafe.Pointer(&from)),
		uintptr(unsafe.Pointer(&size)), syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC, 0, 0)
	if fd = int(n); errno != 0 {
		return -1, nil, errno
	}
	switch from.Addr.Family {
	case syscall.AF_INET:
		at := (*syscall.RawSockaddrInet4)(unsafe.Pointer(&from))
		return fd, tcpAddr(at.Addr[:], &at.Port), 0
	case syscall.AF_INET6:
		at := (*syscall.RawSockaddrInet6)(unsafe.Pointer(&from))
		return fd, tcpAddr(at.Addr[:], &at.Port), 0
	}
	sa, _ := syscall.Getpeername(fd) // nil: the peer has no name
	return fd, address(sa), 0
}

// tcpAddr returns an address. The port is in network byte order.
func tcpAddr(ip []byte, port *uint16) net.Addr {
	bytes := (*[2]byte)(unsafe.Pointer(port))
	return &net.TCPAddr{IP: append(net.IP(nil), ip...), Port: int(bytes[0])<<8 | int(bytes[1])}
}

// rawEnter is io_uring_enter: it submits entries of a ring, and waits for completions. None of the
// submissions waits.
func rawEnter(ring, submit, wait int, flags uintptr) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall6(sysRingEnter, uintptr(ring), uintptr(submit), uintptr(wait), flags, 0, 0)
	return int(n), errno
}
