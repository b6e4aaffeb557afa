package dhcp

import (
	"net"
	"net/netip"

	"github.com/insomniacslk/dhcp/dhcpv4"
)

// parameters are the options that the client asks for. Option 121 precedes option 3 (RFC 3442).
var parameters = []dhcpv4.OptionCode{dhcpv4.OptionSubnetMask, dhcpv4.OptionClasslessStaticRoute, dhcpv4.OptionRouter, dhcpv4.OptionDomainNameServer, dhcpv4.OptionDomainName,
	dhcpv4.OptionInterfaceMTU, dhcpv4.OptionDNSDomainSearchList, dhcpv4.OptionRenewTimeValue, dhcpv4.OptionRebindingTimeValue}

// message returns a message of the client with what all have (RFC 2131, table 5).
func (m *machine) message(kind dhcpv4.MessageType, options ...dhcpv4.Option) *dhcpv4.DHCPv4 {
	d := &dhcpv4.DHCPv4{OpCode: dhcpv4.OpcodeBootRequest, HWType: 1, TransactionID: m.xid, NumSeconds: m.secs, ClientHWAddr: net.HardwareAddr(m.cfg.mac[:]), Options: dhcpv4.Options{}}
	d.UpdateOption(dhcpv4.OptMessageType(kind))
	d.UpdateOption(dhcpv4.OptClientIdentifier(m.cfg.clientID))
	for _, o := range options {
		d.UpdateOption(o)
	}
	return d
}

// question returns a message that asks for a configuration.
func (m *machine) question(kind dhcpv4.MessageType, options ...dhcpv4.Option) *dhcpv4.DHCPv4 {
	options = append(options, dhcpv4.OptParameterRequestList(parameters...), dhcpv4.OptMaxMessageSize(uint16(max(minMTU, min(m.cfg.mtu, 1500)))))
	if m.cfg.hostName != "" {
		options = append(options, dhcpv4.OptHostName(m.cfg.hostName))
	}
	return m.message(kind, options...)
}

// discover returns a DHCPDISCOVER.
func (m *machine) discover() *dhcpv4.DHCPv4 {
	d := m.question(dhcpv4.MessageTypeDiscover)
	if m.wanted.IsValid() {
		d.UpdateOption(dhcpv4.OptRequestedIPAddress(m.wanted.AsSlice()))
	}
	d.SetBroadcast()
	return d
}

// request returns the DHCPREQUEST of the current state (RFC 2131, section 4.3.2).
func (m *machine) request() *dhcpv4.DHCPv4 {
	d := m.question(dhcpv4.MessageTypeRequest)
	switch m.state {
	case Requesting:
		d.UpdateOption(dhcpv4.OptRequestedIPAddress(m.lease.Addr.Addr().AsSlice()))
		d.UpdateOption(dhcpv4.OptServerIdentifier(m.lease.Server.AsSlice()))
		d.SetBroadcast()
	case Rebooting:
		d.UpdateOption(dhcpv4.OptRequestedIPAddress(m.wanted.AsSlice()))
		d.SetBroadcast()
	default:
		d.ClientIPAddr = m.lease.Addr.Addr().AsSlice()
	}
	return d
}

// decline returns a DHCPDECLINE for the address of the lease.
func (m *machine) decline() *dhcpv4.DHCPv4 {
	m.newExchange(m.exchangeAt)
	return m.message(dhcpv4.MessageTypeDecline, dhcpv4.OptRequestedIPAddress(m.lease.Addr.Addr().AsSlice()), dhcpv4.OptServerIdentifier(m.lease.Server.AsSlice()))
}

// release returns a DHCPRELEASE of the lease.
func (m *machine) release() *dhcpv4.DHCPv4 {
	m.newExchange(m.exchangeAt)
	d := m.message(dhcpv4.MessageTypeRelease, dhcpv4.OptServerIdentifier(m.lease.Server.AsSlice()))
	d.ClientIPAddr = m.lease.Addr.Addr().AsSlice()
	return d
}

// broadcast is the address of all hosts on the link.
var broadcast = netip.AddrFrom4([4]byte{255, 255, 255, 255})
