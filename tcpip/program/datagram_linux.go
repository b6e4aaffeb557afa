//go:build amd64 || arm64

package program

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"weir/tcpip"
)

// maxDatagram is the longest payload of UDP over IPv4, in bytes.
const maxDatagram = 65507

// datagram is a UDP socket. Its pair keeps message boundaries.
type datagram struct {
	core

	// The fields below are guarded by core.mu.

	udp       *tcpip.UDPConn // nil: not bound yet
	remote    netip.AddrPort // of connect; zero: not connected
	bound     bool           // by bind: connect keeps the port
	asked     netip.AddrPort // the name server of the last query that was redirected
	arrived   chan struct{}  // closed, and replaced, when a datagram or an error has arrived
	readEnded bool           // the program has shut down reading
	closed    bool
}

// newDatagram makes a UDP socket for the program.
func (c *call) newDatagram(inet6 bool, flags int) answer {
	end, theirs, inode, err := newPair(unix.SOCK_SEQPACKET, flags)
	if err != nil {
		return failed(errnoOf(err))
	}
	defer unix.Close(theirs)
	d := &datagram{core: core{s: c.s, inode: inode, inet6: inet6, end: end, local: unspecified(inet6)}, arrived: make(chan struct{})}
	return c.give(d, &d.core, theirs, flags, d.run)
}

func (d *datagram) isStream() bool { return false }

func (d *datagram) remoteAddr() (netip.AddrPort, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.remote, d.remote.IsValid()
}

// run is the socket's goroutine: it sends what the program writes without an address, until the
// program has closed the socket.
func (d *datagram) run() {
	for d.awaitWritten() == nil {
	}
	d.mu.Lock()
	d.closed = true
	d.closeUDPLocked()
	d.wakeLocked()
	d.mu.Unlock()
	d.end.close()
	d.s.remove(d.inode, d)
}

// awaitWritten waits for a datagram of the program and sends it.
func (d *datagram) awaitWritten() (err error) {
	waitErr := d.end.raw.Read(func(fd uintptr) bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		err = d.sendWrittenLocked(int(fd))
		return err != unix.EAGAIN && err != unix.EINTR
	})
	return errors.Join(waitErr, err)
}

// sendWrittenLocked sends the next datagram that the program has written, without waiting for one.
// The caller holds mu, so the socket of the stack is open until the end.
func (d *datagram) sendWrittenLocked(fd int) error {
	b := relayBuffers.Get().(*[64 << 10]byte)
	defer relayBuffers.Put(b)
	n, err := unix.Read(fd, b[:])
	if n == 0 && err == nil && hasHungUp(fd) {
		return net.ErrClosed
	}
	if err == nil {
		d.sendLocked(&message{payload: b[:n], written: true}) //nolint:errcheck // an error is that of a later call
	}
	return err
}

// abort implements socket.
func (d *datagram) abort() { d.end.close() }

func (d *datagram) wakeLocked() {
	close(d.arrived)
	d.arrived = make(chan struct{})
}

// closeUDPLocked closes the socket of the stack. The caller holds mu.
func (d *datagram) closeUDPLocked() {
	if d.udp != nil {
		d.udp.Close()
		d.s.ports.removeUDP(d.local.Port(), d)
		d.udp = nil
	}
}

// openLocked makes u the socket of the stack. The caller holds mu.
func (d *datagram) openLocked(u *tcpip.UDPConn) {
	d.udp, d.local = u, connAddr(u.LocalAddr())
	d.s.ports.addUDP(d.local.Port(), d)
	d.s.tasks.Go(func() { d.copyIn(u) }) // until u is closed
}

// listenLocked binds the socket. The caller holds mu.
func (d *datagram) listenLocked(a netip.AddrPort) unix.Errno {
	network := "udp"
	switch {
	case !d.inet6:
		network = "udp4"
	case d.only6():
		network = "udp6"
	}
	l, err := d.s.stack.ListenPacket(network, a.String())
	if err != nil {
		return errnoOf(err)
	}
	d.openLocked(l.(*tcpip.UDPConn))
	return 0
}

// bind implements socket.
func (d *datagram) bind(a netip.AddrPort) unix.Errno {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.udp != nil || d.closed {
		return unix.EINVAL
	}
	errno := d.listenLocked(a)
	d.bound = errno == 0
	return errno
}

// connect implements socket.
func (d *datagram) connect(_ *call, to netip.AddrPort) answer {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return failed(unix.EINVAL)
	}
	dialer, local := tcpip.Dialer{Stack: d.s.stack}, d.local
	if d.udp != nil {
		dialer.LocalAddr = local
		if !d.bound { // the address depends on the destination
			dialer.LocalAddr = netip.AddrPortFrom(netip.Addr{}, local.Port())
		}
	}
	isOpen := d.udp != nil
	errno := d.dialLocked(dialer, to)
	if errno != 0 && isOpen {
		d.reopenLocked(dialer, local)
	}
	return result(errno)
}

// dialLocked has the socket of the stack send to an address only. The caller holds mu.
func (d *datagram) dialLocked(dialer tcpip.Dialer, to netip.AddrPort) unix.Errno {
	d.closeUDPLocked()
	conn, err := dialer.DialContext(context.Background(), "udp", d.s.redirected(to).String())
	if err != nil {
		return errnoOf(err)
	}
	d.remote = to
	d.openLocked(conn.(*tcpip.UDPConn))
	return 0
}

// reopenLocked makes the socket what it was before a connect that has failed. The caller holds mu.
func (d *datagram) reopenLocked(dialer tcpip.Dialer, local netip.AddrPort) {
	if d.remote.IsValid() && d.dialLocked(dialer, d.remote) == 0 {
		return
	}
	d.remote = netip.AddrPort{}
	d.listenLocked(local) //nolint:errcheck // sending opens it again
}

// disconnect implements socket: connect to AF_UNSPEC.
func (d *datagram) disconnect() answer {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.remote.IsValid() {
		return value(0)
	}
	d.remote = netip.AddrPort{}
	local := d.local
	d.closeUDPLocked()
	if d.local = unspecified(d.inet6); d.bound {
		return result(d.listenLocked(local))
	}
	return value(0)
}

func (d *datagram) listen(int) answer        { return failed(unix.EOPNOTSUPP) }
func (d *datagram) accept(*call, int) answer { return failed(unix.EOPNOTSUPP) }

// shutdown implements socket.
func (d *datagram) shutdown(_ *call, how int) answer {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case how < unix.SHUT_RD || how > unix.SHUT_RDWR:
		return failed(unix.EINVAL)
	case !d.remote.IsValid():
		return failed(unix.ENOTCONN)
	}
	if how != unix.SHUT_WR {
		d.readEnded = true
		d.end.shutdownWrite()
		d.wakeLocked()
	}
	return value(0)
}

// apply implements socket.
func (d *datagram) apply(of option) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if of == (option{unix.SOL_SOCKET, unix.SO_RCVBUF}) {
		v, _ := d.opts.get(of)
		d.end.raw.Control(func(fd uintptr) { unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_SNDBUF, int(v)/2) }) //nolint:errcheck // the size is a hint
	}
	if d.udp != nil {
		d.applyLocked()
		d.udp.SetReadDeadline(time.Unix(1, 0)) //nolint:errcheck // closed: copyIn has ended
	}
}

// applyLocked has options take effect on the socket of the stack. The caller holds mu.
func (d *datagram) applyLocked() {
	tos, ttl := option{unix.IPPROTO_IP, unix.IP_TOS}, option{unix.IPPROTO_IP, unix.IP_TTL}
	if d.inet6 {
		tos, ttl = option{unix.IPPROTO_IPV6, unix.IPV6_TCLASS}, option{unix.IPPROTO_IPV6, unix.IPV6_UNICAST_HOPS}
	}
	if v, _ := d.opts.get(tos); v != defaults[tos] {
		d.udp.SetTOS(uint8(v))
	}
	if v, _ := d.opts.get(ttl); v != defaults[ttl] {
		d.udp.SetTTL(uint8(v))
	}
}

// send implements socket. Without an address, it sends to that of connect.
func (d *datagram) send(m *message) (n int, errno unix.Errno) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.sendLocked(m)
}

// sendLocked is send for a caller that holds mu.
func (d *datagram) sendLocked(m *message) (n int, errno unix.Errno) {
	if len(m.payload) > maxDatagram {
		return 0, unix.EMSGSIZE
	}
	if errno := d.err; errno != 0 && !m.written {
		d.err = 0
		return 0, errno
	}
	switch {
	case d.closed:
		return 0, unix.EBADF
	case m.to.IsValid() && m.to != d.remote:
		return d.sendToLocked(m)
	case !d.remote.IsValid():
		return 0, unix.EDESTADDRREQ
	}
	n, err := d.udp.Write(m.payload)
	return n, errnoOf(err)
}

// sendToLocked sends to an address that is not that of connect. It binds the socket if need be. The
// caller holds mu.
func (d *datagram) sendToLocked(m *message) (n int, errno unix.Errno) {
	if d.udp == nil {
		if errno := d.listenLocked(unspecified(d.inet6)); errno != 0 {
			return 0, errno
		}
		d.applyLocked()
	}
	to := d.s.redirected(m.to)
	if to != m.to {
		d.asked = m.to
	}
	source := m.source
	if !source.IsValid() && d.remote.IsValid() {
		source = d.local.Addr() // connect has chosen it
	}
	var err error
	if source.IsValid() {
		n, err = d.udp.WriteMsg(m.payload, to, source)
	} else {
		n, err = d.udp.WriteToUDPAddrPort(m.payload, to)
	}
	return n, errnoOf(err)
}

// copyIn passes on what arrives to the program.
func (d *datagram) copyIn(u *tcpip.UDPConn) {
	var files originFiles
	defer files.close()
	for {
		payload, o, err := d.readStack(u)
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case errors.Is(err, os.ErrDeadlineExceeded): // by apply: an option has changed
			u.SetReadDeadline(time.Time{}) //nolint:errcheck // closed: the next read shows it
			continue
		}
		d.mu.Lock()
		current := d.udp == u
		if current && err != nil {
			d.err = errnoOf(err)
		}
		if o.from == d.s.config.NameServer && d.asked.IsValid() {
			o.from = d.asked
		}
		d.mu.Unlock()
		if current && err == nil {
			d.deliver(payload, o, &files)
		}
		d.mu.Lock()
		d.wakeLocked()
		d.mu.Unlock()
	}
}

// wantsInfo reports whether the program wants to know which address a datagram was sent to.
func (d *datagram) wantsInfo() bool {
	return d.opts.isSet(unix.IPPROTO_IP, unix.IP_PKTINFO) || d.opts.isSet(unix.IPPROTO_IPV6, unix.IPV6_RECVPKTINFO)
}

// readStack waits for a datagram from the stack. The address that it was sent to costs a buffer.
func (d *datagram) readStack(u *tcpip.UDPConn) (payload []byte, o origin, err error) {
	if !d.wantsInfo() {
		payload, from, err := u.TakeUDPAddrPort()
		return payload, origin{from: unmapped(from)}, err
	}
	b := relayBuffers.Get().(*[64 << 10]byte)
	defer relayBuffers.Put(b)
	n, from, to, err := u.ReadMsg(b[:])
	return bytes.Clone(b[:n]), origin{unmapped(from), to.Unmap().WithZone("")}, err
}

// unmapped returns an address without its zone.
func unmapped(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap().WithZone(""), a.Port())
}

// deliver puts a datagram into the program's queue, with a file that has its origin: a read that
// does not ask for that discards it. A connected socket that has not asked for more knows it. A
// full queue drops the datagram.
func (d *datagram) deliver(payload []byte, o origin, files *originFiles) {
	d.mu.Lock()
	known := d.remote.IsValid()
	d.mu.Unlock()
	var rights []byte
	if !known || d.packetInfo(o.to) != nil {
		f, err := files.file(o)
		if err != nil {
			return
		}
		rights = unix.UnixRights(int(f.Fd()))
	}
	d.end.raw.Control(func(fd uintptr) { //nolint:errcheck // closed: it is not read any more
		sendPair(int(fd), payload, rights)
	})
}

// sendPair sends a datagram with control messages. It does not wait.
func sendPair(fd int, payload, control []byte) {
	var h unix.Msghdr
	var buffer unix.Iovec
	if len(payload) > 0 {
		buffer.Base = &payload[0]
		buffer.SetLen(len(payload))
		h.Iov, h.Iovlen = &buffer, 1
	}
	if len(control) > 0 {
		h.Control = &control[0]
		h.SetControllen(len(control))
	}
	unix.Syscall(unix.SYS_SENDMSG, uintptr(fd), uintptr(unsafe.Pointer(&h)), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL) //nolint:errcheck // a full queue drops it
}
