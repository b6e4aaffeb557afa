//go:build amd64 || arm64

package program

import (
	"encoding/binary"
	"net/netip"
	"unsafe"

	"golang.org/x/sys/unix"
)

// read copies memory of the caller. It is the caller's only if the notification is still valid.
func (c *call) read(at uint64, p []byte) unix.Errno {
	if len(p) == 0 {
		return 0
	}
	local := unix.Iovec{Base: &p[0], Len: uint64(len(p))}
	n, err := unix.ProcessVMReadv(int(c.tid), []unix.Iovec{local}, []unix.RemoteIovec{{Base: uintptr(at), Len: len(p)}}, 0)
	errno := copied(n, len(p), err)
	if errno == 0 && !c.s.listener.isValid(c.id) {
		return unix.EINTR // it is not sent: the thread has gone
	}
	return errno
}

// write copies to memory of the caller. Sending the answer shows whether the notification is still
// valid afterwards.
func (c *call) write(at uint64, p []byte) unix.Errno {
	if len(p) == 0 {
		return 0
	}
	if !c.s.listener.isValid(c.id) {
		return unix.EINTR
	}
	local := unix.Iovec{Base: &p[0], Len: uint64(len(p))}
	n, err := unix.ProcessVMWritev(int(c.tid), []unix.Iovec{local}, []unix.RemoteIovec{{Base: uintptr(at), Len: len(p)}}, 0)
	return copied(n, len(p), err)
}

// copied returns the error of a copy.
func copied(n, want int, err error) unix.Errno {
	switch {
	case err == unix.EPERM:
		return unix.EPERM
	case err != nil || n < want:
		return unix.EFAULT
	}
	return 0
}

// readInt reads an int of the caller.
func (c *call) readInt(at uint64) (int32, unix.Errno) {
	var b [4]byte
	errno := c.read(at, b[:])
	return int32(binary.NativeEndian.Uint32(b[:])), errno
}

// readStruct reads a struct of the caller.
func readStruct[T any](c *call, at uint64) (v T, errno unix.Errno) {
	errno = c.read(at, unsafe.Slice((*byte)(unsafe.Pointer(&v)), unsafe.Sizeof(v)))
	return v, errno
}

// family of an address that the caller gives, with the address unless it is AF_UNSPEC.
type sockaddr struct {
	family uint16
	addr   netip.AddrPort
}

// Sizes of addresses in bytes.
const (
	sizeAddr4  = 16
	sizeAddr6  = 28
	sizeAddrIn = 24 // without the scope, which may be left out (RFC 2133)
)

// readAddr reads an address of the caller. IPv4 addresses within IPv6 ones are unmapped.
func (c *call) readAddr(at, size uint64) (a sockaddr, errno unix.Errno) {
	var b [sizeAddr6]byte
	n := min(int(uint32(size)), len(b))
	if n < 2 {
		return a, unix.EINVAL
	}
	if errno := c.read(at, b[:n]); errno != 0 {
		return a, errno
	}
	a.family = binary.NativeEndian.Uint16(b[:])
	port := binary.BigEndian.Uint16(b[2:])
	switch {
	case a.family == unix.AF_INET && n >= sizeAddr4:
		a.addr = netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[4:8])), port)
	case a.family == unix.AF_INET6 && n >= sizeAddrIn:
		a.addr = netip.AddrPortFrom(netip.AddrFrom16([16]byte(b[8:24])).Unmap(), port)
	case a.family == unix.AF_INET || a.family == unix.AF_INET6:
		return a, unix.EINVAL
	}
	return a, 0
}

// encodeAddr returns an address as a program expects it of a socket.
func encodeAddr(a netip.AddrPort, inet6 bool) []byte {
	if !inet6 {
		b := make([]byte, sizeAddr4)
		binary.NativeEndian.PutUint16(b, unix.AF_INET)
		binary.BigEndian.PutUint16(b[2:], a.Port())
		if a.Addr().Is4() {
			copy(b[4:], a.Addr().AsSlice())
		}
		return b
	}
	b := make([]byte, sizeAddr6)
	binary.NativeEndian.PutUint16(b, unix.AF_INET6)
	binary.BigEndian.PutUint16(b[2:], a.Port())
	if a.Addr().IsValid() {
		as := a.Addr().As16()
		copy(b[8:], as[:])
	}
	return b
}

// writeAddr gives the caller an address: as much of it as there is room for, and its size.
func (c *call) writeAddr(at, sizeAt uint64, a netip.AddrPort, inet6 bool) unix.Errno {
	room, errno := c.readInt(sizeAt)
	if errno != 0 {
		return errno
	}
	if room < 0 {
		return unix.EINVAL
	}
	b := encodeAddr(a, inet6)
	if errno := c.write(at, b[:min(len(b), int(room))]); errno != 0 {
		return errno
	}
	return c.write(sizeAt, binary.NativeEndian.AppendUint32(nil, uint32(len(b))))
}
