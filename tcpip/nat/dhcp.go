package nat

import (
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"

	"weir/tcpip"
)

const serverPort, clientPort = 67, 68

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
		n.warnDHCP(now, "DHCP: a host has found its address in use", "address", m.RequestedIPAddress())
		return nil
	case dhcpv4.MessageTypeDiscover, dhcpv4.MessageTypeRequest:
	default:
		return nil
	}
	asked := m.IPAddressLeaseTime(leaseTime)
	if m.MessageType() == dhcpv4.MessageTypeDiscover {
		a := n.leases.offer(mac, n.pool(g), now)
		if !a.IsValid() {
			n.warnDHCP(now, "DHCP: all addresses are given", "network", g)
			return nil
		}
		return n.lease(dhcpv4.MessageTypeOffer, a, g, n.leases.duration(mac, asked, n.pool(g), now))
	}
	a, duration := requestedAddr(m), n.leases.duration(mac, asked, n.pool(g), now)
	if !n.leases.bind(mac, a, n.pool(g), now, now.Add(duration)) {
		return identity(dhcpv4.MessageTypeNak, g)
	}
	return n.lease(dhcpv4.MessageTypeAck, a, g, duration)
}

// pool returns the addresses to give.
func (n *NAT) pool(g netip.Prefix) pool {
	return pool{first: n.config.Guest, network: g, own: g.Addr()}
}

// warnInterval is the shortest time between two warnings: hosts can cause many.
const warnInterval = time.Minute

// warnDHCP logs a warning, unless there was one a moment ago. Only the goroutine of serveDHCP calls
// it.
func (n *NAT) warnDHCP(now time.Time, text string, args ...any) {
	if now.Sub(n.warnedAt) >= warnInterval {
		n.warnedAt = now
		n.config.Log.Warn(text, args...)
	}
}

// addrOf returns an IPv4 address; zero: there is none.
func addrOf(ip net.IP) netip.Addr {
	a, _ := netip.AddrFromSlice(ip)
	return a.Unmap()
}

// requestedAddr returns the address that a request is for: that of the option, or when it is
// renewed the client's address.
func requestedAddr(m *dhcpv4.DHCPv4) netip.Addr {
	if a := addrOf(m.RequestedIPAddress()); a.IsValid() && !a.IsUnspecified() {
		return a
	}
	return addrOf(m.ClientIPAddr)
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
	if n.config.servesDNS() {
		all = append(all, dhcpv4.WithDNS(gateway))
	}
	return all
}

// identity returns what every answer has.
func identity(kind dhcpv4.MessageType, g netip.Prefix) []dhcpv4.Modifier {
	gateway := net.IP(g.Addr().AsSlice())
	return []dhcpv4.Modifier{dhcpv4.WithMessageType(kind), dhcpv4.WithServerIP(gateway), dhcpv4.WithOption(dhcpv4.OptServerIdentifier(gateway))}
}
