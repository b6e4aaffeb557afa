package nat

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"time"

	"weir/tcpip"
)

const (
	dnsPort    = 53
	maxQuery   = 4096            // longest query by UDP, in bytes: each is held until its answer
	dnsTimeout = 5 * time.Second // of each server
)

var errNoServer = errors.New("nat: no DNS server has answered")

// servesDNS reports whether the gateway answers queries.
func (c *Config) servesDNS() bool { return len(c.DNS) > 0 || len(c.Hosts) > 0 }

// serveDNS passes queries to the gateway's addresses on to the servers.
func (n *NAT) serveDNS() error {
	if !n.config.servesDNS() {
		return nil
	}
	for _, g := range n.config.Gateway {
		at := netip.AddrPortFrom(g.Addr(), dnsPort).String()
		packets, err := n.stack.ListenPacket("udp", at)
		if err != nil {
			return err
		}
		streams, err := n.stack.Listen("tcp", at)
		if err != nil {
			return err
		}
		n.tasks.Go(func() { n.passQueries(packets.(*tcpip.UDPConn)) }) // until the stack is closed
		n.tasks.Go(func() { n.passStreams(streams) })                  // until the stack is closed
	}
	return nil
}

// passQueries answers the queries of a socket.
func (n *NAT) passQueries(c *tcpip.UDPConn) {
	for {
		query, from, err := c.TakeUDPAddrPort()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil || len(query) > maxQuery || !n.begin(from.Addr()):
			continue
		}
		n.tasks.Go(func() { // until the answer, the servers' timeouts, or Close
			defer n.end(from.Addr())
			answer, err := n.config.AnswerHosts(query), error(nil)
			if answer == nil {
				answer, err = n.ask(query)
			}
			if err != nil {
				n.config.Log.Warn("a DNS query was not answered", "error", err)
				return
			}
			c.WriteToUDPAddrPort(answer, from) //nolint:errcheck // the client asks again
		})
	}
}

// ask passes a query to the servers, one after the other.
func (n *NAT) ask(query []byte) (answer []byte, err error) {
	err = errNoServer
	for _, server := range n.config.DNS {
		if answer, err = n.askServer(query, server); err == nil {
			return answer, nil
		}
	}
	return nil, err
}

// askServer passes a query to a server, which the configuration names: it may be denied to hosts.
func (n *NAT) askServer(query []byte, server netip.AddrPort) (answer []byte, err error) {
	far, err := n.dialServer("udp", server)
	if err != nil {
		return n.askByTCP(query, server)
	}
	defer n.close(far)
	_ = far.SetDeadline(time.Now().Add(dnsTimeout)) // Read shows a closed one
	if _, err := far.Write(query); err != nil {
		return nil, err
	}
	// without a buffer while it waits: many queries may wait for a server that does not answer
	for read := newDatagramReader(far); answer == nil; {
		err := read(func(b []byte) {
			// the ID of the query
			if answer == nil && len(b) >= 2 && len(query) >= 2 && [2]byte(b) == [2]byte(query) {
				answer = append([]byte(nil), b...)
			}
		})
		if err != nil && answer == nil {
			return nil, err
		}
	}
	return answer, nil
}

// askByTCP is for a way onward that has no datagrams (RFC 7766).
func (n *NAT) askByTCP(query []byte, server netip.AddrPort) ([]byte, error) {
	far, err := n.dialServer("tcp", server)
	if err != nil {
		return nil, err
	}
	defer n.close(far)
	_ = far.SetDeadline(time.Now().Add(dnsTimeout)) // Read shows a closed one
	if _, err := far.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(query))), query...)); err != nil {
		return nil, err
	}
	var length [2]byte
	if _, err := io.ReadFull(far, length[:]); err != nil {
		return nil, err
	}
	answer := make([]byte, binary.BigEndian.Uint16(length[:]))
	_, err = io.ReadFull(far, answer)
	return answer, err
}

// dialServer connects to a DNS server. Close ends the connection.
func (n *NAT) dialServer(network string, server netip.AddrPort) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(n.ctx, dnsTimeout)
	defer cancel()
	c, err := n.config.Dial(ctx, network, server)
	if err == nil && !n.keep(c) {
		err = net.ErrClosed
	}
	return c, err
}

// passStreams passes connections to the first server that accepts one.
func (n *NAT) passStreams(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		near := c.(*tcpip.Conn)
		host := near.RemoteAddr().(*net.TCPAddr).AddrPort().Addr()
		if !n.begin(host) {
			abort(near)
			continue
		}
		n.tasks.Go(func() { // until the connection ends, or Close
			defer n.end(host)
			n.passStream(near)
		})
	}
}

func (n *NAT) passStream(near *tcpip.Conn) {
	if !n.keep(near) {
		return
	}
	defer n.close(near)
	for _, server := range n.config.DNS {
		if far, err := n.dialServer("tcp", server); err == nil {
			join(near, far)
			n.close(far)
			return
		}
	}
	abort(near)
}
