package tcpip

import (
	"io"
	"net"
	"net/netip"
	"time"

	"weir/tcpip/tcp"
)

// This file has the methods of net.TCPConn, net.TCPListener and net.UDPConn that are not part of
// net.Conn, net.Listener and net.PacketConn.

// copyBuffer is the size of the buffer of ReadFrom and WriteTo, in bytes.
const copyBuffer = 256 << 10

// ReadFrom implements io.ReaderFrom: it writes what it reads from r until r ends.
func (c *Conn) ReadFrom(r io.Reader) (int64, error) {
	return io.CopyBuffer(struct{ io.Writer }{c}, struct{ io.Reader }{r}, make([]byte, copyBuffer))
}

// WriteTo implements io.WriterTo: it writes what it receives to w until the peer ends the stream.
func (c *Conn) WriteTo(w io.Writer) (int64, error) {
	return io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{c}, make([]byte, copyBuffer))
}

// CloseRead closes the receiving direction: Read returns io.EOF from then on, and what the peer
// still sends is acknowledged and discarded. Write still works.
func (c *Conn) CloseRead() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closedByApp {
		return c.wrap("close", net.ErrClosed)
	}
	now := c.s.now()
	c.readClosed = true
	c.discardLocked(now)
	c.flushLocked(now)
	c.readWaiter.wake()
	return nil
}

// SetReadBuffer sets the size of the receive buffer in bytes, which then no longer tunes itself. At
// least 4 KiB are used, and at most the window that the SYN allows for.
func (c *Conn) SetReadBuffer(bytes int) error {
	return c.update(func(tcp.Time) { c.tcp.SetReceiveBuffer(bytes) })
}

// SetWriteBuffer sets the size of the send buffer in bytes, which then no longer tunes itself. At
// least 4 KiB are used.
func (c *Conn) SetWriteBuffer(bytes int) error {
	return c.update(func(tcp.Time) { c.tcp.SetSendBuffer(bytes) })
}

// Peek is Read without removing the bytes: the next Read returns them too (MSG_PEEK). It waits
// until there is at least one.
func (c *Conn) Peek(p []byte) (int, error) {
	c.readWaiter.callMu.Lock()
	defer c.readWaiter.callMu.Unlock()
	for {
		n, deadline, err := c.peekSome(p)
		if n > 0 || err != nil || len(p) == 0 {
			return n, c.wrap("read", err)
		}
		c.readWaiter.wait(deadline)
	}
}

// peekSome peeks at what there is.
func (c *Conn) peekSome(p []byte) (n int, deadline time.Time, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.readWaiter.armLocked()
	return c.takeLocked(p, (*tcp.Conn).PeekCopy)
}

// discardLocked reads and discards what has arrived. The caller holds mu and flushes.
func (c *Conn) discardLocked(now tcp.Time) {
	var scratch [4096]byte
	for c.tcp.Read(now, scratch[:]) > 0 {
	}
}

// AcceptTCP is Accept with the type of the connection.
func (l *Listener) AcceptTCP() (*Conn, error) {
	c, err := l.Accept()
	if err != nil {
		return nil, err
	}
	return c.(*Conn), nil
}

// SetReadBuffer sets the size of the receive queue in bytes, in which a datagram takes 64 bytes
// more than its payload. One sender fills half of it. Default 512 KiB.
func (u *UDPConn) SetReadBuffer(bytes int) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closed {
		return u.wrap("set", net.ErrClosed)
	}
	u.limit = max(bytes, minReceiveQueue)
	return nil
}

// minReceiveQueue is the size of the smallest receive queue, in bytes: a datagram finds room.
const minReceiveQueue = 256 << 10

// SetWriteBuffer does nothing: datagrams do not wait in a buffer.
func (u *UDPConn) SetWriteBuffer(int) error { return nil }

// ReadFromUDPAddrPort is ReadFrom with the sender's address as a value.
func (u *UDPConn) ReadFromUDPAddrPort(p []byte) (int, netip.AddrPort, error) {
	n, from, _, err := u.ReadMsg(p)
	return n, from, err
}

// TakeUDPAddrPort is ReadFromUDPAddrPort without a copy: it returns the whole datagram, which is
// the caller's.
func (u *UDPConn) TakeUDPAddrPort() (payload []byte, from netip.AddrPort, err error) {
	d, err := u.read()
	if err != nil {
		return nil, from, u.wrap("read", err)
	}
	return d.payload, d.from, nil
}

// WriteToUDPAddrPort is WriteTo with the receiver's address as a value.
func (u *UDPConn) WriteToUDPAddrPort(p []byte, to netip.AddrPort) (int, error) {
	to = netip.AddrPortFrom(u.s.canonicalAddr(to.Addr()), to.Port())
	if u.remote.IsValid() {
		return 0, u.writeError(to, net.ErrWriteToConnected)
	}
	return u.send(p, to, u.local.Addr())
}

// ReadFromUDP is ReadFrom with the type of the address.
func (u *UDPConn) ReadFromUDP(p []byte) (int, *net.UDPAddr, error) {
	n, from, err := u.ReadFromUDPAddrPort(p)
	if err != nil {
		return n, nil, err
	}
	return n, net.UDPAddrFromAddrPort(from), nil
}

// WriteToUDP is WriteTo with the type of the address.
func (u *UDPConn) WriteToUDP(p []byte, to *net.UDPAddr) (int, error) { return u.WriteTo(p, to) }
