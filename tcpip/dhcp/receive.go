package dhcp

import (
	"bytes"
	"net/netip"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"
)

// receive handles a message from the network. Messages that are malformed, or not for this
// exchange, are counted and ignored.
func (m *machine) receive(b []byte, now time.Time, do actions) {
	d, err := parseMessage(b)
	if err != nil {
		m.stats.Malformed++
		return
	}
	if !m.isForUs(d) || !m.isExpected(d) {
		m.stats.Ignored++
		return
	}
	if d.MessageType() == dhcpv4.MessageTypeNak {
		m.refused(now, do)
		return
	}
	l, err := parseLease(d, m.exchangeAt, now)
	switch {
	case err != nil:
		m.stats.BadLeases++
	case m.state == Selecting:
		m.lease, m.state, m.tries = l, Requesting, 0
		m.sendRequest(now, do)
	case l.Addr.Addr() != m.askedFor():
		m.stats.Ignored++
	default:
		m.acknowledged(l, do)
	}
}

// isForUs reports whether a message answers the current exchange (RFC 2131, section 4.4.1; RFC
// 6842, section 3).
func (m *machine) isForUs(d *dhcpv4.DHCPv4) bool {
	id := d.Options.Get(dhcpv4.OptionClientIdentifier)
	return d.OpCode == dhcpv4.OpcodeBootReply && d.HWType == 1 && d.TransactionID == m.xid && bytes.Equal(d.ClientHWAddr, m.cfg.mac[:]) &&
		(id == nil || bytes.Equal(id, m.cfg.clientID))
}

// isExpected reports whether the state waits for a message of this type from this server.
func (m *machine) isExpected(d *dhcpv4.DHCPv4) bool {
	server, _ := hostAddr(d.ServerIdentifier())
	switch kind := d.MessageType(); m.state {
	case Selecting:
		return kind == dhcpv4.MessageTypeOffer && (!m.failed.IsValid() || server != m.failed || m.tries > 1)
	case Requesting, Renewing:
		return (kind == dhcpv4.MessageTypeAck || kind == dhcpv4.MessageTypeNak) && server == m.lease.Server
	case Rebooting, Rebinding:
		return kind == dhcpv4.MessageTypeAck || kind == dhcpv4.MessageTypeNak && server.IsValid()
	}
	return false
}

// askedFor returns the address that the client has asked for.
func (m *machine) askedFor() netip.Addr {
	if m.state == Rebooting {
		return m.wanted
	}
	return m.lease.Addr.Addr()
}

// refused handles a DHCPNAK.
func (m *machine) refused(now time.Time, do actions) {
	if m.state.hasLease() {
		do.lose(m.lease, Refused)
	}
	if m.state == Requesting {
		m.failed = m.lease.Server
	}
	m.backOff(now, 0)
}

// acknowledged handles a DHCPACK. A renewed lease keeps its network: the address is in use.
func (m *machine) acknowledged(l Lease, do actions) {
	if m.state.hasLease() {
		l.Addr = m.lease.Addr
		m.lease = l
		m.bind(true, do)
		return
	}
	m.lease, m.state, m.at = l, Probing, time.Time{}
	do.probe(l)
}
