//go:build amd64 || arm64

package program

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"os"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// origin is what a program may ask of a datagram beside its payload.
type origin struct {
	from netip.AddrPort
	to   netip.Addr // the address of this host, or the group; zero: not known
}

// maxOrigins is how many files of origins a socket keeps.
const maxOrigins = 64

// originFiles has files in memory whose content is an origin. Such a file goes along with each
// datagram to the program's end, and comes back when the program asks for the origin.
type originFiles struct {
	files map[origin]*os.File
	order []origin // the oldest first
}

// file returns the file of an origin.
func (s *originFiles) file(o origin) (*os.File, error) {
	if f, ok := s.files[o]; ok {
		return f, nil
	}
	fd, err := unix.MemfdCreate("origin", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	f := os.NewFile(uintptr(fd), "origin")
	if _, err := f.WriteString(o.from.String() + " " + o.to.String()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if s.files == nil {
		s.files = map[origin]*os.File{}
	}
	if s.order = append(s.order, o); len(s.order) > maxOrigins {
		s.files[s.order[0]].Close()
		delete(s.files, s.order[0])
		s.order = s.order[1:]
	}
	s.files[o] = f
	return f, nil
}

func (s *originFiles) close() {
	for _, f := range s.files {
		f.Close()
	}
	s.files, s.order = nil, nil
}

// originIn reads a file of originFiles; zero: it is another one.
func originIn(fd int) (o origin) {
	b := make([]byte, 128)
	n, err := unix.Pread(fd, b, 0)
	if err != nil {
		return o
	}
	from, to, _ := strings.Cut(string(b[:n]), " ")
	if o.from, err = netip.ParseAddrPort(from); err != nil {
		return origin{}
	}
	o.to, _ = netip.ParseAddr(to) // zero if it is not known
	return o
}

// takeOrigin returns the origin that came along with a datagram; zero: there is none.
func takeOrigin(control []byte) (o origin) {
	all, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return o
	}
	for i := range all {
		fds, err := unix.ParseUnixRights(&all[i])
		if err != nil {
			continue
		}
		for _, fd := range fds {
			o = originIn(fd)
			unix.Close(fd)
		}
	}
	return o
}

// Indexes of interfaces that a program sees.
const (
	loopbackIndex = 1
	linkIndex     = 2
)

// packetInfo returns the control message that tells the program where a datagram was sent to, if it
// has asked for that (IP_PKTINFO, RFC 3542).
func (d *datagram) packetInfo(to netip.Addr) []byte {
	index := uint32(linkIndex)
	if to.IsLoopback() {
		index = loopbackIndex
	}
	switch {
	case !to.IsValid():
		return nil
	case !d.inet6 && to.Is4() && d.opts.isSet(unix.IPPROTO_IP, unix.IP_PKTINFO):
		a := to.As4()
		data := binary.NativeEndian.AppendUint32(nil, index)
		return controlMessage(unix.IPPROTO_IP, unix.IP_PKTINFO, append(append(data, a[:]...), a[:]...))
	case d.inet6 && d.opts.isSet(unix.IPPROTO_IPV6, unix.IPV6_RECVPKTINFO):
		a := to.As16()
		return controlMessage(unix.IPPROTO_IPV6, unix.IPV6_PKTINFO, binary.NativeEndian.AppendUint32(a[:], index))
	}
	return nil
}

// controlMessage returns a control message with its padding.
func controlMessage(level, kind int32, data []byte) []byte {
	b := make([]byte, unix.CmsgSpace(len(data)))
	h := (*unix.Cmsghdr)(unsafe.Pointer(&b[0]))
	h.Level, h.Type = level, kind
	h.SetLen(unix.CmsgLen(len(data)))
	copy(b[unix.CmsgLen(0):], data)
	return b
}

// maxControl is the longest list of control messages that a call may send, in bytes.
const maxControl = 1024

// readSource reads the control messages of a call that sends: the source that it chooses. The TOS
// octet is that of the socket.
func (c *call) readSource(h *unix.Msghdr) (source netip.Addr, errno unix.Errno) {
	if h.Controllen == 0 {
		return source, 0
	}
	b := make([]byte, min(h.Controllen, maxControl))
	if errno := c.read(pointer(h.Control), b); errno != 0 {
		return source, errno
	}
	all, err := unix.ParseSocketControlMessage(b)
	if err != nil {
		return source, unix.EINVAL
	}
	for _, m := range all {
		switch {
		case m.Header.Level == unix.IPPROTO_IP && m.Header.Type == unix.IP_PKTINFO && len(m.Data) >= 12:
			source = netip.AddrFrom4([4]byte(m.Data[4:]))
		case m.Header.Level == unix.IPPROTO_IPV6 && m.Header.Type == unix.IPV6_PKTINFO && len(m.Data) >= 20:
			source = netip.AddrFrom16([16]byte(m.Data)).Unmap()
		case m.Header.Level == unix.IPPROTO_UDP:
			return source, unix.EINVAL // segmentation by the kernel
		}
	}
	if source.IsUnspecified() {
		source = netip.Addr{}
	}
	return source, 0
}
