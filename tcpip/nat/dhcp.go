package nat

import (
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"

	"weir/tcpip"
)

const (
	serverPort, clientPort = 67, 68
	leaseTime              = 24 * time.Hour
)

// leases are the addresses that DHCP has given, by hardware address. A host gets the same one
// again.
type leases struct {
	mu    sync.Mutex
	byMAC map[string]lease
}

type lease struct {
	addr netip.Addr
	ends time.Time
}

// maxLeases is the number of addresses that are given at most: a host can claim to be many.
const maxLeases = 1000

// give returns the address of a host; the zero Addr: all are given. first is the first address to
// give, of a network in which the gateway has own.
func (l *leases) give(mac string, first netip.Addr, network netip.Prefix, own netip.Addr, now time.Time) netip.Addr {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byMAC == nil {
		l.byMAC = map[string]lease{}
	}
	if known, ok := l.byMAC[mac]; ok {
		l.byMAC[mac] = lease{known.addr, now.Add(leaseTime)}
		return known.addr
	}
	taken := map[netip.Addr]bool{own: true, broadcastOf(network): true}
	for other, given := range l.byMAC {
		if now.After(given.ends) {
			delete(l.byMAC, other)
			continue
		}
		taken[given.addr] = true
	}
	for a := first; network.Contains(a) && len(l.byMAC) < maxLeases; a = a.Next() {
		if !taken[a] {
			l.byMAC[mac] = lease{a, now.Add(leaseTime)}
			return a
		}
	}
	return netip.Addr{}
}

// broadcastOf returns the last address of a network.
func broadcastOf(p netip.Prefix) netip.Addr {
	b := p.Masked().Addr().As4()
	w := binary.BigEndian.Uint32(b[:]) | (1<<(32-p.Bits()) - 1)
	return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, w)))
}

// serveDHCP gives addresses to hosts (RFC 2131), if there is an IPv4 network.
func (n *NAT) serveDHCP() error {
	g := n.gateway(true)
	if !g.IsValid() {
		return nil
	}
	c, err := n.stack.ListenPacket("udp4", netip.AddrPortFrom(netip.IPv4Unspecified(), serverPort).String())
	if err != nil {
		return err
	}
	n.tasks.Go(func() { // until the stack is closed
		for {
			message, _, err := c.(*tcpip.UDPConn).TakeUDPAddrPort()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err != nil {
				continue
			}
			if answer := n.answerDHCP(message, g, time.Now()); answer != nil {
				// to all: a host without an address answers no ARP request
				c.WriteTo(answer, &net.UDPAddr{IP: net.IPv4bcast, Port: clientPort}) //nolint:errcheck // it asks again
			}
		}
	})
	return nil
}

// answerDHCP returns the answer to a message of DHCP; nil: none.
func (n *NAT) answerDHCP(message []byte, g netip.Prefix, now time.Time) []byte {
	m, err := dhcpv4.FromBytes(message)
	if err != nil || m.OpCode != dhcpv4.OpcodeBootRequest || len(m.ClientHWAddr) == 0 {
		return nil
	}
	if id := m.ServerIdentifier(); id != nil && !id.Equal(g.Addr().AsSlice()) {
		return nil // it has chosen another server
	}
	kind := dhcpv4.MessageTypeAck
	switch m.MessageType() {
	case dhcpv4.MessageTypeDiscover:
		kind = dhcpv4.MessageTypeOffer
	case dhcpv4.MessageTypeRequest, dhcpv4.MessageTypeInform:
	default:
		return nil
	}
	a := n.leases.give(m.ClientHWAddr.String(), n.Guest, g, g.Addr(), now)
	if !a.IsValid() {
		n.Log.Warn("DHCP: all addresses are given", "network", g)
		return nil
	}
	if m.MessageType() == dhcpv4.MessageTypeRequest && !requests(m, a) {
		kind = dhcpv4.MessageTypeNak
	}
	answer, err := dhcpv4.NewReplyFromRequest(m, n.lease(kind, a, g)...)
	if err != nil {
		return nil
	}
	return answer.ToBytes()
}

// requests reports whether a request is for that address: by the option, or when it is renewed by
// the client's address.
func requests(m *dhcpv4.DHCPv4, a netip.Addr) bool {
	wanted := m.RequestedIPAddress()
	if wanted == nil || wanted.IsUnspecified() {
		wanted = m.ClientIPAddr
	}
	return wanted.Equal(a.AsSlice())
}

// lease returns what an answer has beside the request's fields.
func (n *NAT) lease(kind dhcpv4.MessageType, a netip.Addr, g netip.Prefix) []dhcpv4.Modifier {
	gateway := net.IP(g.Addr().AsSlice())
	all := []dhcpv4.Modifier{dhcpv4.WithMessageType(kind), dhcpv4.WithServerIP(gateway), dhcpv4.WithOption(dhcpv4.OptServerIdentifier(gateway))}
	if kind == dhcpv4.MessageTypeNak {
		return all
	}
	mask := net.CIDRMask(g.Bits(), 32)
	mtu := binary.BigEndian.AppendUint16(nil, uint16(n.Link.Caps().MTU))
	all = append(all, dhcpv4.WithYourIP(a.AsSlice()), dhcpv4.WithNetmask(mask), dhcpv4.WithRouter(gateway), dhcpv4.WithLeaseTime(uint32(leaseTime.Seconds())),
		dhcpv4.WithGeneric(dhcpv4.OptionInterfaceMTU, mtu))
	if len(n.DNS) > 0 {
		all = append(all, dhcpv4.WithDNS(gateway))
	}
	return all
}
