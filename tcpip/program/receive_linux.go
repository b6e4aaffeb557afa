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
		arrived := d.arrived
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
		if n, errno = d.receiveNow(c, m); errno != unix.EAGAIN || cancel == nil {
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
	from := takeSender(rights[:size])
	if !from.IsValid() {
		from, _ = d.remoteAddr()
	}
	n = min(full, len(b))
	if m.flags&unix.MSG_PEEK == 0 && full <= len(b) {
		c.undo = append(c.undo, func() { d.putBack(b[:n], from) })
	}
	if errno := c.put(m.place, b[:n], from, d.inet6, flags&unix.MSG_TRUNC); errno != 0 {
		return 0, errno
	}
	if m.flags&unix.MSG_TRUNC != 0 {
		n = full
	}
	return n, 0
}

// putBack puts a datagram at the end of the program's queue that the program has not received: a
// signal has interrupted its call.
func (d *datagram) putBack(b []byte, from netip.AddrPort) {
	var senders senderFiles
	defer senders.close()
	d.deliver(b, from, false, &senders)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.wakeLocked()
}

// takeSender returns the sender that a file beside a datagram names; zero: there is none.
func takeSender(control []byte) (from netip.AddrPort) {
	all, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return from
	}
	for i := range all {
		fds, err := unix.ParseUnixRights(&all[i])
		if err != nil {
			continue
		}
		for _, fd := range fds {
			from = senderOf(fd)
			unix.Close(fd)
		}
	}
	return from
}

// put writes a datagram and its sender to the caller.
func (c *call) put(p place, b []byte, from netip.AddrPort, inet6 bool, flags int) unix.Errno {
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
	sizeAt := p.header + uint64(unsafe.Offsetof(h.Namelen))
	if p.addr != 0 {
		if errno := c.writeAddr(p.addr, sizeAt, from, inet6); errno != 0 {
			return errno
		}
	}
	if errno := c.write(p.header+uint64(unsafe.Offsetof(h.Controllen)), make([]byte, 8)); errno != 0 {
		return errno
	}
	return c.write(p.header+uint64(unsafe.Offsetof(h.Flags)), binary.NativeEndian.AppendUint32(nil, uint32(flags)))
}
