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
	minLeaseTime           = 10 * time.Second // for hosts that ask for less
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

// give returns the address of a host until ends; the zero Addr: all are given. first is the first
// address to give, of a network in which the gateway has own.
func (l *leases) give(mac string, first netip.Addr, network netip.Prefix, own netip.Addr, now, ends time.Time) netip.Addr {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byMAC == nil {
		l.byMAC = map[string]lease{}
	}
	if known, ok := l.byMAC[mac]; ok {
		l.byMAC[mac] = lease{known.addr, ends}
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
			l.byMAC[mac] = lease{a, ends}
			return a
		}
	}
	return netip.Addr{}
}

// release ends the lease of a host, which gets the same address again if no other host has it.
func (l *leases) release(mac string, a netip.Addr, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known, ok := l.byMAC[mac]; ok && known.addr == a {
		l.byMAC[mac] = lease{a, now}
	}
}

// decline keeps an address from being given, for the time of a lease: its host has found that
// another one uses it.
func (l *leases) decline(mac string, a netip.Addr, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known, ok := l.byMAC[mac]; ok && known.addr == a {
		delete(l.byMAC, mac)
		l.byMAC["declined "+a.String()] = lease{a, now.Add(leaseTime)}
	}
}

// broadcastOf returns the last address of a network.
func broadcastOf(p netip.Prefix) netip.Addr {
	b := p.Masked().Addr().As4()
	w := binary.BigEndian.Uint32(b[:]) | (1<<(32-p.Bits()) - 1)
	return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, w)))
}

// serveDHCP gives addresses to hosts (RFC 2131), if there is an IPv4 network.
func (n *NAT) serveDHCP() error {
	g := n.config.gateway(true)
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
			if answer, to := n.answerDHCP(message, g, time.Now()); answer != nil {
				c.WriteTo(answer, &net.UDPAddr{IP: to.AsSlice(), Port: clientPort}) //nolint:errcheck // it asks again
			}
		}
	})
	return nil
}

// answerDHCP returns the answer to a message of DHCP, and where it goes; nil: none.
func (n *NAT) answerDHCP(message []byte, g netip.Prefix, now time.Time) (answer []byte, to netip.Addr) {
	m, err := dhcpv4.FromBytes(message)
	if err != nil || m.OpCode != dhcpv4.OpcodeBootRequest || len(m.ClientHWAddr) == 0 {
		return nil, to
	}
	if id := m.ServerIdentifier(); id != nil && !id.Equal(g.Addr().AsSlice()) {
		return nil, to // it has chosen another server
	}
	options := n.answerOptions(m, g, now)
	if options == nil {
		return nil, to
	}
	reply, err := dhcpv4.NewReplyFromRequest(m, options...)
	if err != nil {
		return nil, to
	}
	return reply.ToBytes(), answerTo(m, reply, g)
}

// answerTo returns where an answer goes: to a host that uses its address, otherwise to all (RFC
// 2131, section 4.1): a host without an address answers no ARP request. A refusal goes to all.
func answerTo(m, reply *dhcpv4.DHCPv4, g netip.Prefix) netip.Addr {
	a := addrOf(m.ClientIPAddr)
	if reply.MessageType() == dhcpv4.MessageTypeNak || !g.Contains(a) || a == g.Addr() {
		return netip.AddrFrom4([4]byte{255, 255, 255, 255})
	}
	return a
}

// answerOptions returns what the answer to a message has; nil: there is none.
func (n *NAT) answerOptions(m *dhcpv4.DHCPv4, g netip.Prefix, now time.Time) []dhcpv4.Modifier {
	mac := m.ClientHWAddr.String()
	switch m.MessageType() {
	case dhcpv4.MessageTypeInform: // it has an address (RFC 2131, section 4.3.5)
		return n.configuration(dhcpv4.MessageTypeAck, g)
	case dhcpv4.MessageTypeRelease:
		n.leases.release(mac, addrOf(m.ClientIPAddr), now)
		return nil
	case dhcpv4.MessageTypeDecline:
		n.leases.decline(mac, addrOf(m.RequestedIPAddress()), now)
		n.config.Log.Warn("DHCP: a host has found its address in use", "address", m.RequestedIPAddress())
		return nil
	case dhcpv4.MessageTypeDiscover, dhcpv4.MessageTypeRequest:
	default:
		return nil
	}
	// a host may ask for less time
	duration := max(min(m.IPAddressLeaseTime(leaseTime), leaseTime), minLeaseTime)
	a := n.leases.give(mac, n.config.Guest, g, g.Addr(), now, now.Add(duration))
	switch {
	case !a.IsValid():
		n.config.Log.Warn("DHCP: all addresses are given", "network", g)
		return nil
	case m.MessageType() == dhcpv4.MessageTypeDiscover:
		return n.lease(dhcpv4.MessageTypeOffer, a, g, duration)
	case requests(m, a):
		return n.lease(dhcpv4.MessageTypeAck, a, g, duration)
	}
	return identity(dhcpv4.MessageTypeNak, g)
}

// addrOf returns an IPv4 address; zero: there is none.
func addrOf(ip net.IP) netip.Addr {
	a, _ := netip.AddrFromSlice(ip)
	return a.Unmap()
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

// lease returns what an answer has that gives an address.
func (n *NAT) lease(kind dhcpv4.MessageType, a netip.Addr, g netip.Prefix, duration time.Duration) []dhcpv4.Modifier {
	return append(n.configuration(kind, g), dhcpv4.WithYourIP(a.AsSlice()), dhcpv4.WithLeaseTime(uint32(duration.Seconds())))
}

// configuration returns what an answer has beside an address.
func (n *NAT) configuration(kind dhcpv4.MessageType, g netip.Prefix) []dhcpv4.Modifier {
	gateway := net.IP(g.Addr().AsSlice())
	mtu := binary.BigEndian.AppendUint16(nil, uint16(n.config.Link.Caps().MTU))
	all := append(identity(kind, g), dhcpv4.WithNetmask(net.CIDRMask(g.Bits(), 32)), dhcpv4.WithRouter(gateway), dhcpv4.WithGeneric(dhcpv4.OptionInterfaceMTU, mtu))
	if len(n.config.DNS) > 0 {
		all = append(all, dhcpv4.WithDNS(gateway))
	}
	return all
}

// identity returns what every answer has.
func identity(kind dhcpv4.MessageType, g netip.Prefix) []dhcpv4.Modifier {
	gateway := net.IP(g.Addr().AsSlice())
	return []dhcpv4.Modifier{dhcpv4.WithMessageType(kind), dhcpv4.WithServerIP(gateway), dhcpv4.WithOption(dhcpv4.OptServerIdentifier(gateway))}
}
