package nat

import (
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"weir/tcpip"
)

// publish listens at this machine for hosts on the link.
func (n *NAT) publish() error {
	for _, p := range n.config.Publish {
		listen := n.publishTCP
		if p.Network == "udp" {
			listen = n.publishUDP
		}
		if err := listen(p); err != nil {
			return fmt.Errorf("nat: publishing %v: %w", p.Listen, err)
		}
	}
	return nil
}

func (n *NAT) publishTCP(p Publish) error {
	l, err := net.Listen("tcp", p.Listen.String())
	if err != nil {
		return err
	}
	if !n.keep(l) {
		return net.ErrClosed
	}
	n.tasks.Go(func() { n.acceptAll(l, p.To) }) // until Close
	return nil
}

// acceptPause is how long a listener waits after an error, such as that of too many open files.
const acceptPause = 100 * time.Millisecond

// acceptAll accepts connections for a host until Close.
func (n *NAT) acceptAll(l net.Listener, to netip.AddrPort) {
	for {
		far, err := l.Accept()
		if err == nil {
			n.acceptIn(far, to)
			continue
		}
		if n.ctx.Err() != nil {
			return
		}
		n.config.Log.Warn("a published port could not accept a connection", "port", l.Addr(), "error", err)
		select {
		case <-n.ctx.Done():
			return
		case <-time.After(acceptPause):
		}
	}
}

// acceptIn passes a connection on to a host.
func (n *NAT) acceptIn(far net.Conn, to netip.AddrPort) {
	client := outsideClient(far.RemoteAddr().(*net.TCPAddr).AddrPort().Addr())
	if !n.begin(client) {
		abort(far)
		return
	}
	n.tasks.Go(func() { // until the connection ends, a session has it, or Close
		if !n.keep(far) || !n.connectIn(far, to, client) {
			n.end(client)
		}
	})
}

// published is a UDP port of this machine with its flows.
type published struct {
	n    *NAT
	conn *net.UDPConn
	to   netip.AddrPort

	mu    sync.Mutex
	flows map[netip.AddrPort]*tcpip.UDPConn // by client
}

func (n *NAT) publishUDP(p Publish) error {
	c, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(p.Listen))
	if err != nil {
		return err
	}
	if !n.keep(c) {
		return net.ErrClosed
	}
	u := &published{n: n, conn: c, to: p.To, flows: map[netip.AddrPort]*tcpip.UDPConn{}}
	n.tasks.Go(u.run) // until Close
	return nil
}

// run passes datagrams to the host, each client's from a port of its own.
func (u *published) run() {
	b := make([]byte, largestDatagram)
	for {
		size, client, err := u.conn.ReadFromUDPAddrPort(b)
		if err != nil {
			if u.n.ctx.Err() != nil {
				return
			}
			continue // a client that does not listen any more
		}
		if near := u.flow(client); near != nil {
			near.Write(b[:size]) //nolint:errcheck // a datagram may be lost
		}
	}
}

// flow returns the socket for a client; nil: there is no room.
func (u *published) flow(client netip.AddrPort) *tcpip.UDPConn {
	u.mu.Lock()
	defer u.mu.Unlock()
	if near := u.flows[client]; near != nil {
		return near
	}
	addr := outsideClient(client.Addr())
	if !u.n.begin(addr) {
		return nil
	}
	c, err := u.n.stack.Dial("udp", u.to.String())
	if err != nil {
		u.n.end(addr)
		return nil
	}
	near := c.(*tcpip.UDPConn)
	u.flows[client] = near
	u.n.tasks.Go(func() { // until the flow is idle, or Close
		defer u.n.end(addr)
		u.answer(near, client)
	})
	return near
}

// answer passes what the host sends to a client, until nothing has come for udpIdle.
func (u *published) answer(near *tcpip.UDPConn, client netip.AddrPort) {
	for {
		_ = near.SetReadDeadline(time.Now().Add(udpIdle)) // the read shows a closed one
		payload, _, err := near.TakeUDPAddrPort()
		if err != nil {
			break
		}
		u.conn.WriteToUDPAddrPort(payload, client) //nolint:errcheck // a datagram may be lost
	}
	u.mu.Lock()
	delete(u.flows, client)
	u.mu.Unlock()
	near.Close() //nolint:errcheck // it is
}
