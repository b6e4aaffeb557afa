package dhcp

import (
	"bytes"
	"math/rand/v2"
	"net"
	"net/netip"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv6"
	"github.com/insomniacslk/dhcp/iana"

	"weir/wire"
)

// Intervals of RFC 8415, section 7.6.
const (
	infMaxDelay    = time.Second // before the first message
	infTimeout     = time.Second // first retransmission
	infMaxTimeout  = time.Hour
	refreshDefault = 24 * time.Hour   // IRT_DEFAULT
	refreshMin     = 10 * time.Minute // IRT_MINIMUM
	refreshMax     = 0xffffffff * time.Second
)

// Info is the configuration that an answer of stateless DHCPv6 has.
type Info struct {
	DNS     []netip.Addr  // DNS servers, the best first
	Search  []string      // domains to search names in
	Refresh time.Duration // when the client asks again; 0: never
}

// infoState is the state of a stateless client (RFC 8415, section 18.2.6).
type infoState uint8

const (
	infoIdle    infoState = iota // no router wants it
	infoDelayed                  // waits for up to a second before the first message
	infoAsking                   // an Information-request was sent
	infoCurrent                  // has an answer that has not to be refreshed yet
)

// infoMachine is the state machine of a stateless client. It has one owner at a time.
type infoMachine struct {
	mac   wire.MAC
	rand  *rand.Rand
	state infoState
	at    time.Time // when to call tick; zero: only after another call

	xid        dhcpv6.TransactionID
	exchangeAt time.Time // when its first message was sent
	interval   time.Duration
	stats      Stats
}

// setWanted records whether a router's O flag asks for the exchange. It reports whether what was
// learned is to be forgotten.
func (m *infoMachine) setWanted(wanted bool, now time.Time) (forget bool) {
	switch {
	case wanted && m.state == infoIdle:
		m.delay(now)
	case !wanted:
		forget = m.state != infoIdle
		m.state, m.at = infoIdle, time.Time{}
	}
	return forget
}

// delay has the exchange begin after a random delay, so that hosts that start together do not ask
// together.
func (m *infoMachine) delay(now time.Time) {
	m.state, m.at = infoDelayed, now.Add(time.Duration(m.rand.Int64N(int64(infMaxDelay))))
}

// tick handles the deadline. It returns the message to send; nil: none.
func (m *infoMachine) tick(now time.Time) *dhcpv6.Message {
	if m.at.IsZero() || now.Before(m.at) {
		return nil
	}
	switch m.state {
	case infoCurrent:
		m.delay(now)
		return nil
	case infoDelayed:
		m.state, m.interval, m.exchangeAt = infoAsking, 0, now
		for n := range m.xid {
			m.xid[n] = byte(m.rand.Uint32())
		}
	}
	m.interval = m.nextInterval()
	m.at = now.Add(m.interval)
	m.stats.Sent++
	return m.request(now)
}

// nextInterval returns the time to the next retransmission (RFC 8415, section 15).
func (m *infoMachine) nextInterval() time.Duration {
	part := m.rand.Float64()*0.2 - 0.1 // RAND
	add := func(d time.Duration) time.Duration { return time.Duration(part * float64(d)) }
	if m.interval == 0 {
		return infTimeout + add(infTimeout)
	}
	if next := 2*m.interval + add(m.interval); next <= infMaxTimeout {
		return next
	}
	return infMaxTimeout + add(infMaxTimeout)
}

// duid returns the client's DUID, of its hardware address (RFC 8415, section 11.4).
func (m *infoMachine) duid() dhcpv6.DUID {
	return &dhcpv6.DUIDLL{HWType: iana.HWTypeEthernet, LinkLayerAddr: net.HardwareAddr(m.mac[:])}
}

// request returns an Information-request (RFC 8415, section 18.2.6).
func (m *infoMachine) request(now time.Time) *dhcpv6.Message {
	d := &dhcpv6.Message{MessageType: dhcpv6.MessageTypeInformationRequest, TransactionID: m.xid}
	d.AddOption(dhcpv6.OptClientID(m.duid()))
	d.AddOption(dhcpv6.OptElapsedTime(min(now.Sub(m.exchangeAt), 0xffff*10*time.Millisecond)))
	d.AddOption(dhcpv6.OptRequestedOption(dhcpv6.OptionDNSRecursiveNameServer, dhcpv6.OptionDomainSearchList, dhcpv6.OptionInformationRefreshTime))
	return d
}

// receive handles a message. ok reports whether it is the answer (RFC 8415, section 16.10).
func (m *infoMachine) receive(b []byte, now time.Time) (i Info, ok bool) {
	if len(b) < header6 {
		m.stats.Malformed++
		return i, false
	}
	if m.state != infoAsking || b[0] != byte(dhcpv6.MessageTypeReply) || dhcpv6.TransactionID(b[1:header6]) != m.xid {
		m.stats.Ignored++
		return i, false
	}
	used, search, err := splitMessage6(b)
	d := &dhcpv6.Message{}
	if err == nil {
		d, err = dhcpv6.MessageFromBytes(used)
	}
	if err != nil {
		m.stats.Malformed++
		return i, false
	}
	if id := d.Options.ClientID(); d.Options.ServerID() == nil || id == nil || !bytes.Equal(id.ToBytes(), m.duid().ToBytes()) {
		m.stats.Ignored++
		return i, false
	}
	i.DNS, i.Search = servers6(d.Options.DNS()), searchList(search)
	m.state, m.at = infoCurrent, time.Time{}
	if refresh := d.Options.InformationRefreshTime(refreshDefault); refresh < refreshMax {
		i.Refresh = max(refresh, refreshMin)
		m.at = now.Add(i.Refresh)
	}
	return i, true
}

// servers6 returns the addresses that a server can have among those of an option.
func servers6(all []net.IP) (hosts []netip.Addr) {
	for _, b := range all {
		a, ok := netip.AddrFromSlice(b)
		if ok && a.Is6() && !a.Is4In6() && !a.IsUnspecified() && !a.IsLoopback() && !a.IsMulticast() && len(hosts) < maxServers {
			hosts = append(hosts, a)
		}
	}
	return hosts
}
