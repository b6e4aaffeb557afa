package stackload

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	socketBuffer = 16 << 20 // bytes; for the replies and time stamps of a burst
	icmpFilter   = 1        // the option ICMP_FILTER
)

// stampSocket is a raw socket for ICMP echo replies from one address, with the kernel's time
// stamps. The time at which a packet was received is ancillary data of that packet. The time at
// which a packet was sent is in the socket's error queue, with a copy of the packet. The error
// queue also has the ICMP errors that sent packets caused. It must be used by one thread.
type stampSocket struct {
	fd      int
	packet  []byte
	control [256]byte
	vector  unix.Iovec
	header  unix.Msghdr
	stamp   int64 // time stamp that the last receive got; ns of CLOCK_REALTIME; 0: none
	// error of a sent packet that the last receive read from the error queue; 0: the packet was
	// sent, or the last receive did not read the error queue
	sendError syscall.Errno
}

func newStampSocket(address string) (*stampSocket, error) {
	to, err := netip.ParseAddr(address)
	if err != nil {
		return nil, fmt.Errorf("load: the address %q is invalid: %w", address, err)
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, unix.IPPROTO_ICMP)
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
		return nil, fmt.Errorf("load: pings need the right to open a raw socket (CAP_NET_RAW): run as root, or give the program that capability: %w", err)
	}
	if err != nil {
		return nil, fmt.Errorf("load: cannot open a raw socket: %w", err)
	}
	const stamps = unix.SOF_TIMESTAMPING_TX_SOFTWARE | unix.SOF_TIMESTAMPING_RX_SOFTWARE | unix.SOF_TIMESTAMPING_SOFTWARE
	// a set bit blocks the ICMP type of its number; all but type 0, echo reply, are blocked
	replies := [4]byte{}
	binary.NativeEndian.PutUint32(replies[:], ^uint32(1))
	err = errors.Join(
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPING_NEW, stamps),
		// report a ping that a full queue on this machine drops
		unix.SetsockoptInt(fd, unix.SOL_IP, unix.IP_RECVERR, 1),
		unix.SetsockoptString(fd, unix.SOL_RAW, icmpFilter, string(replies[:])),
		unix.Connect(fd, &unix.SockaddrInet4{Addr: to.Unmap().As4()}))
	if err != nil {
		unix.Close(fd) //nolint:errcheck // nothing is lost
		return nil, fmt.Errorf("load: cannot open a socket for pings to %s: %w", address, err)
	}
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, socketBuffer) != nil {
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, socketBuffer) //nolint:errcheck // with a smaller one pings are lost, which the report shows
	}
	s := &stampSocket{fd: fd, packet: make([]byte, 1<<16)}
	s.vector = unix.Iovec{Base: &s.packet[0]}
	s.vector.SetLen(len(s.packet))
	s.header = unix.Msghdr{Iov: &s.vector, Iovlen: 1, Control: &s.control[0]}
	return s, nil
}

func (s *stampSocket) close() { unix.Close(s.fd) } //nolint:errcheck // nothing is lost

// receive reads a packet and its time stamp in ns of CLOCK_REALTIME, or the current time if it has
// none. With flags 0 it reads a received packet, which starts with its IP header. With
// unix.MSG_ERRQUEUE it reads the copy of a sent packet from the error queue: headers of lower
// layers may precede the ICMP message, so callers search for their bytes. It returns EAGAIN if
// there is nothing to read. The packet is valid until the next call.
func (s *stampSocket) receive(flags int) (packet []byte, stamp int64, errno syscall.Errno) {
	s.header.SetControllen(len(s.control))
	n, _, errno := syscall.RawSyscall(unix.SYS_RECVMSG, uintptr(s.fd), uintptr(unsafe.Pointer(&s.header)), uintptr(flags))
	if errno != 0 {
		return nil, 0, errno
	}
	s.sendError, s.stamp = 0, 0
	for control := s.control[:s.header.Controllen]; len(control) >= unix.SizeofCmsghdr; {
		h := (*unix.Cmsghdr)(unsafe.Pointer(&control[0]))
		size := int(h.Len)
		if size < unix.SizeofCmsghdr || size > len(control) {
			break
		}
		s.note(h, control[unix.CmsgLen(0):size])
		control = control[min(len(control), unix.CmsgSpace(size-unix.CmsgLen(0))):]
	}
	if stamp = s.stamp; stamp == 0 {
		stamp = realtime()
	}
	return s.packet[:n], stamp, 0
}

// note handles a control message: a time stamp, or the error of a sent packet.
func (s *stampSocket) note(h *unix.Cmsghdr, data []byte) {
	switch {
	case h.Level == unix.SOL_SOCKET && h.Type == unix.SO_TIMESTAMPING_NEW && len(data) >= 16:
		s.stamp = int64(binary.NativeEndian.Uint64(data))*1e9 + int64(binary.NativeEndian.Uint64(data[8:]))
	case h.Level == unix.SOL_IP && h.Type == unix.IP_RECVERR && len(data) >= 5 && data[4] != unix.SO_EE_ORIGIN_TIMESTAMPING:
		s.sendError = syscall.Errno(binary.NativeEndian.Uint32(data))
	}
}

// realtime reads CLOCK_REALTIME, the clock of the kernel's time stamps.
func realtime() int64 {
	var ts unix.Timespec
	unix.ClockGettime(unix.CLOCK_REALTIME, &ts) //nolint:errcheck // can't fail
	return ts.Nano()
}
