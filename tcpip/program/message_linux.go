//go:build amd64 || arm64

package program

import (
	"encoding/binary"
	"net/netip"
	"unsafe"

	"golang.org/x/sys/unix"
)

// message is what a call sends or receives.
type message struct {
	to      netip.AddrPort // zero: none was given
	source  netip.Addr     // zero: the socket's
	payload []byte         // to send
	written bool           // by a call that was not stopped: an error cannot be its result
	flags   int
	place   place // of what is received
}

// place is where a call wants what it receives.
type place struct {
	buffers  []unix.RemoteIovec
	room     int    // bytes in buffers
	addr     uint64 // of the sender's address; 0: not wanted
	addrSize uint64 // address of its size, an int; 0: addr is of a header
	header   uint64 // address of struct msghdr; 0: none
	// where control messages go, and how many bytes have room
	control     uint64
	controlRoom int
}

// mmsghdr is struct mmsghdr.
type mmsghdr struct {
	unix.Msghdr
	length uint32
	_      [4]byte
}

// maxBuffers is the largest number of buffers of a call (UIO_MAXIOV).
const maxBuffers = 1024

// count returns an argument that is a number of messages, an unsigned int: as many as Linux takes.
func (c *call) count(arg int) int { return int(min(uint32(c.args[arg]), maxBuffers)) }

// sendto implements sendto(2) with an address.
func (c *call) sendto(k socket) answer {
	if k.isStream() {
		if c.arg(3)&unix.MSG_FASTOPEN != 0 {
			return failed(unix.EOPNOTSUPP)
		}
		return passOn
	}
	m := &message{flags: c.arg(3)}
	if c.args[2] > maxDatagram {
		return failed(unix.EMSGSIZE)
	}
	m.payload = make([]byte, c.args[2])
	if errno := c.read(c.args[1], m.payload); errno != 0 {
		return failed(errno)
	}
	if errno := c.setTo(k, m, c.args[4], c.args[5]); errno != 0 {
		return failed(errno)
	}
	n, errno := k.send(m)
	return answer{value: int64(n), errno: errno}
}

// setTo sets where a message goes.
func (c *call) setTo(k socket, m *message, at, size uint64) unix.Errno {
	a, errno := c.readAddr(at, size)
	switch {
	case errno != 0:
		return errno
	case !a.addr.IsValid() || a.family != unix.AF_INET && !k.isInet6():
		return unix.EAFNOSUPPORT
	case k.isInet6() && k.only6() && a.addr.Addr().Is4():
		return unix.ENETUNREACH
	case a.addr.Port() == 0:
		return unix.EINVAL
	}
	m.to = toLoopback(a.addr)
	return 0
}

// sendmsg implements sendmsg(2).
func (c *call) sendmsg(k socket) answer {
	if k.isStream() {
		return passOn
	}
	h, errno := readStruct[unix.Msghdr](c, c.args[1])
	if errno != 0 {
		return failed(errno)
	}
	n, errno := c.sendHeader(k, &h, c.arg(2))
	return answer{value: int64(n), errno: errno}
}

// sendHeader sends the message that a header describes.
func (c *call) sendHeader(k socket, h *unix.Msghdr, flags int) (n int, errno unix.Errno) {
	buffers, room, errno := c.readBuffers(h)
	if errno != 0 {
		return 0, errno
	}
	if room > maxDatagram {
		return 0, unix.EMSGSIZE
	}
	m := &message{flags: flags, payload: make([]byte, room)}
	rest := m.payload
	for _, b := range buffers {
		if errno := c.read(uint64(b.Base), rest[:b.Len]); errno != 0 {
			return 0, errno
		}
		rest = rest[b.Len:]
	}
	if h.Name != nil && h.Namelen > 0 {
		if errno := c.setTo(k, m, pointer(h.Name), uint64(h.Namelen)); errno != 0 {
			return 0, errno
		}
	}
	if m.source, errno = c.readSource(h); errno != 0 {
		return 0, errno
	}
	return k.send(m)
}

// pointer returns a pointer of the caller, which is none of this process.
func pointer[T any](p *T) uint64 { return uint64(uintptr(unsafe.Pointer(p))) }

// readBuffers reads the buffers of a header, and how long they are together.
func (c *call) readBuffers(h *unix.Msghdr) (all []unix.RemoteIovec, room int, errno unix.Errno) {
	if h.Iovlen > maxBuffers {
		return nil, 0, unix.EMSGSIZE
	}
	if h.Iovlen == 0 {
		return nil, 0, 0
	}
	all = make([]unix.RemoteIovec, h.Iovlen)
	raw := unsafe.Slice((*byte)(unsafe.Pointer(&all[0])), len(all)*int(unsafe.Sizeof(all[0])))
	if errno := c.read(pointer(h.Iov), raw); errno != 0 {
		return nil, 0, errno
	}
	for _, b := range all {
		if b.Len < 0 || b.Len > 1<<30 || room > 1<<30 {
			return nil, 0, unix.EINVAL
		}
		room += b.Len
	}
	return all, room, 0
}

// sendmmsg implements sendmmsg(2).
func (c *call) sendmmsg(k socket) answer {
	if k.isStream() {
		return passOn
	}
	count := c.count(2)
	for i := range count {
		at := c.args[1] + uint64(i)*uint64(unsafe.Sizeof(mmsghdr{}))
		h, errno := readStruct[mmsghdr](c, at)
		var n int
		if errno == 0 {
			n, errno = c.sendHeader(k, &h.Msghdr, c.arg(3))
		}
		if errno == 0 {
			errno = c.write(at+uint64(unsafe.Offsetof(h.length)), binary.NativeEndian.AppendUint32(nil, uint32(n)))
		}
		if errno != 0 && i > 0 {
			return value(i)
		}
		if errno != 0 {
			return failed(errno)
		}
	}
	return value(count)
}

// recvfrom implements recvfrom(2) with an address.
func (c *call) recvfrom(k socket) answer {
	if k.isStream() {
		return passOn
	}
	room := int(min(c.args[2], 1<<30))
	p := place{buffers: []unix.RemoteIovec{{Base: uintptr(c.args[1]), Len: room}}, room: room, addr: c.args[4], addrSize: c.args[5]}
	return c.receive(k, &message{flags: c.arg(3), place: p})
}

// recvmsg implements recvmsg(2).
func (c *call) recvmsg(k socket) answer {
	if k.isStream() {
		return passOn
	}
	p, errno := c.readPlace(c.args[1])
	if errno != 0 {
		return failed(errno)
	}
	return c.receive(k, &message{flags: c.arg(2), place: p})
}

// readPlace reads a header for what is received.
func (c *call) readPlace(at uint64) (p place, errno unix.Errno) {
	h, errno := readStruct[unix.Msghdr](c, at)
	if errno != 0 {
		return p, errno
	}
	p.header, p.control, p.controlRoom = at, pointer(h.Control), int(min(h.Controllen, 1<<20))
	if p.buffers, p.room, errno = c.readBuffers(&h); h.Namelen > 0 {
		p.addr = pointer(h.Name)
	}
	return p, errno
}

// receive answers a call that receives a datagram: now, or when one has arrived.
func (c *call) receive(k socket, m *message) answer {
	n, errno := k.receive(c, m, nil)
	if errno != unix.EAGAIN || m.flags&(unix.MSG_DONTWAIT|unix.MSG_ERRQUEUE) != 0 || c.isNonblocking() {
		return answer{value: int64(n), errno: errno}
	}
	return c.wait(func(cancel <-chan struct{}) answer {
		n, errno := k.receive(c, m, cancel)
		return answer{value: int64(n), errno: errno} // not sent after EINTR: the thread has gone
	})
}

// recvmmsg implements recvmmsg(2). It waits for the first message only, as with MSG_WAITFORONE.
func (c *call) recvmmsg(k socket) answer {
	if k.isStream() {
		return passOn
	}
	first := c.receiveMany(k, nil)
	if first.errno != unix.EAGAIN || c.arg(3)&(unix.MSG_DONTWAIT|unix.MSG_ERRQUEUE) != 0 || c.isNonblocking() {
		return first
	}
	return c.wait(func(cancel <-chan struct{}) answer { return c.receiveMany(k, cancel) })
}

// receiveMany receives what there is. If cancel is not nil, it waits for the first message.
func (c *call) receiveMany(k socket, cancel <-chan struct{}) answer {
	count := c.count(2)
	for i := range count {
		at := c.args[1] + uint64(i)*uint64(unsafe.Sizeof(mmsghdr{}))
		p, errno := c.readPlace(at)
		var n int
		if errno == 0 {
			n, errno = k.receive(c, &message{flags: c.arg(3), place: p}, cancel)
			cancel = nil
		}
		if errno == 0 {
			errno = c.write(at+uint64(unsafe.Offsetof(mmsghdr{}.length)), binary.NativeEndian.AppendUint32(nil, uint32(n)))
		}
		if errno != 0 && i > 0 {
			return value(i)
		}
		if errno != 0 {
			return failed(errno)
		}
	}
	return value(count)
}

// receive implements socket for streams, whose data the kernel moves.
func (t *stream) receive(*call, *message, <-chan struct{}) (int, unix.Errno) {
	return 0, unix.EOPNOTSUPP
}

// send implements socket for streams, whose data the kernel moves.
func (t *stream) send(*message) (int, unix.Errno) { return 0, unix.EOPNOTSUPP }
