//go:build amd64 || arm64

package program

import (
	"encoding/binary"
	"net/netip"
	"unsafe"

	"golang.org/x/sys/unix"
)

// receive implements socket. It waits if cancel is not nil, and fails with EINTR when it is closed.
func (d *datagram) receive(c *call, m *message, cancel <-chan struct{}) (n int, errno unix.Errno) {
	timeout := deadline(d.opts.timeout(unix.SO_RCVTIMEO))
	for {
		d.mu.Lock()
		arrived, ended := d.arrived, d.readEnded || d.closed
		errno := d.err
		if m.flags&unix.MSG_ERRQUEUE == 0 {
			d.err = 0
		} else {
			errno = unix.EAGAIN // it is always empty
		}
		d.mu.Unlock()
		if errno != 0 {
			return 0, errno
		}
		if d.end.unsent() == 0 && !ended {
			n, errno = 0, unix.EAGAIN
		} else {
			n, errno = d.receiveNow(c, m)
		}
		if errno != unix.EAGAIN || cancel == nil {
			return n, errno
		}
		select {
		case <-arrived:
		case <-timeout:
			return 0, unix.EAGAIN
		case <-cancel:
			return 0, unix.EINTR
		}
	}
}

// receiveNow takes a datagram out of the program's queue and gives it to the caller.
func (d *datagram) receiveNow(c *call, m *message) (n int, errno unix.Errno) {
	fd, err := fetch(c.tid, c.arg(0))
	if err != nil {
		return 0, errnoOf(err)
	}
	defer unix.Close(fd)
	if !c.s.listener.isValid(c.id) {
		return 0, unix.EINTR
	}
	b := make([]byte, min(m.place.room, maxDatagram))
	var rights [64]byte
	full, size, flags, _, err := unix.Recvmsg(fd, b, rights[:], unix.MSG_DONTWAIT|unix.MSG_TRUNC|unix.MSG_CMSG_CLOEXEC|m.flags&unix.MSG_PEEK)
	if err != nil {
		return 0, errnoOf(err)
	}
	o := d.originOf(rights[:size])
	n = min(full, len(b))
	if m.flags&unix.MSG_PEEK == 0 && full <= len(b) {
		c.undo = append(c.undo, func() { d.putBack(b[:n], o) })
	}
	if errno := c.put(m.place, b[:n], o.from, d.inet6, d.packetInfo(o.to), flags&unix.MSG_TRUNC); errno != 0 {
		return 0, errno
	}
	if m.flags&unix.MSG_TRUNC != 0 {
		n = full
	}
	return n, 0
}

// originOf returns the origin of a datagram: the one that came along, or that of the connection.
func (d *datagram) originOf(control []byte) origin {
	o := takeOrigin(control)
	if !o.from.IsValid() {
		o.from, _ = d.remoteAddr()
	}
	return o
}

// putBack puts a datagram at the end of the program's queue that the program has not received: a
// signal has interrupted its call.
func (d *datagram) putBack(b []byte, o origin) {
	var files originFiles
	defer files.close()
	d.deliver(b, o, &files)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.wakeLocked()
}

// put writes a datagram, its sender and control messages to the caller.
func (c *call) put(p place, b []byte, from netip.AddrPort, inet6 bool, control []byte, flags int) unix.Errno {
	for _, buffer := range p.buffers {
		n := min(len(b), buffer.Len)
		if errno := c.write(uint64(buffer.Base), b[:n]); errno != 0 {
			return errno
		}
		b = b[n:]
	}
	if p.header == 0 {
		return c.writeAddr(p.addr, p.addrSize, from, inet6)
	}
	var h unix.Msghdr
	if p.addr != 0 {
		if errno := c.writeAddr(p.addr, p.header+uint64(unsafe.Offsetof(h.Namelen)), from, inet6); errno != 0 {
			return errno
		}
	}
	if len(control) > p.controlRoom {
		control, flags = nil, flags|unix.MSG_CTRUNC
	}
	if errno := c.write(p.control, control); errno != 0 {
		return errno
	}
	if errno := c.write(p.header+uint64(unsafe.Offsetof(h.Controllen)), binary.NativeEndian.AppendUint64(nil, uint64(len(control)))); errno != 0 {
		return errno
	}
	return c.write(p.header+uint64(unsafe.Offsetof(h.Flags)), binary.NativeEndian.AppendUint32(nil, uint32(flags)))
}
