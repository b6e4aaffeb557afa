package tcpip

import (
	"net/netip"

	"weir/tcpip/link"
	"weir/tcpip/multicast"
	"weir/tcpip/tcp"
	"weir/wire"
)

// This file receives and sends the messages of IGMP (RFC 3376) and MLD (RFC 3810).

// Fields of the IP headers of all messages: they do not leave the link.
const (
	groupHops = 1
	groupTOS  = 0xc0 // Internetwork Control (RFC 3376, section 4)
)

// isProxyQuery reports whether a packet with a martian source is a message of IGMP from 0.0.0.0, as
// switches send them that stand for a querier (RFC 4541, section 2.1.1).
func isProxyQuery(v wire.IPv4) bool {
	return v.Protocol() == wire.IGMPProtocol && v.Src() == netip.IPv4Unspecified() && v.Dst().IsLinkLocalMulticast()
}

// igmp processes a message of IGMP. It must come from the link: from a neighbour, with TTL 1. A
// query of version 2 or 3 has a Router Alert option (RFC 3376, section 9.1).
func (p *packet) igmp() layer {
	i, v := p.reader.iface, wire.IPv4(p.ip)
	m, fault := wire.ParseIGMP(p.payload)
	if fault != wire.OK || !m.ChecksumOK() || v.TTL() != groupHops || i.loopback || p.forwarded || p.src != netip.IPv4Unspecified() && !i.onLink(p.src) {
		return p.drop(DropICMP)
	}
	switch m.Type() {
	case wire.MembershipQuery:
		q, fault := wire.ParseIGMPQuery(m)
		if fault != wire.OK || q.Version > 1 && !wire.HasRouterAlert(v.Options()) {
			return p.drop(DropICMP)
		}
		return p.groupQuery(i.groups.igmp, &q)
	case wire.MembershipReport1, wire.MembershipReport2:
		return p.groupReport(i.groups.igmp, m.Group())
	}
	return consumed // what other hosts report is for routers
}

// mld processes a message of MLD. It must come from the link: with hop limit 1, a link-local source
// and a Router Alert option (RFC 3810, section 6.2).
func (p *packet) mld(m wire.ICMPv6) layer {
	i, v := p.reader.iface, wire.IPv6(p.ip)
	x, fault := wire.ParseExtensions(v)
	if fault != wire.OK || !x.RouterAlert || v.HopLimit() != groupHops || !p.src.IsLinkLocalUnicast() || i.loopback || p.forwarded {
		return p.drop(DropICMP)
	}
	switch m.Type() {
	case wire.ListenerQuery:
		q, fault := wire.ParseMLDQuery(m)
		if fault != wire.OK {
			return p.drop(DropICMP)
		}
		return p.groupQuery(i.groups.mld, &q)
	case wire.ListenerReport1:
		return p.groupReport(i.groups.mld, m.Group())
	}
	return consumed // what other hosts report is for routers
}

// groupQuery has a query answered. One for all groups is sent to all hosts (RFC 3376, section 9.1).
func (p *packet) groupQuery(host *multicast.Host, q *wire.GroupQuery) layer {
	if dst := p.dst.WithZone(""); q.Group.IsUnspecified() && dst.IsMulticast() && dst != allNodes && (dst.Is6() || addrToUint32(dst) != allHosts) {
		return p.drop(DropICMP)
	}
	i := p.reader.iface
	i.mu.Lock()
	host.Receive(q, multicast.Time(p.now))
	i.mu.Unlock()
	p.reader.requestCheck()
	return consumed
}

// groupReport processes another host's report of an older version, which is sent to the group.
func (p *packet) groupReport(host *multicast.Host, group netip.Addr) layer {
	if p.dst.WithZone("") != group {
		return p.drop(DropICMP)
	}
	i := p.reader.iface
	i.mu.Lock()
	host.ReceiveReport(group)
	i.mu.Unlock()
	return consumed
}

// tickGroupsLocked sends the reports that are due. It returns when it must run again; 0: no timer.
// The caller holds the interface's lock.
func (l *reader) tickGroupsLocked(now tcp.Time) (next tcp.Time) {
	for _, host := range [...]*multicast.Host{l.iface.groups.igmp, l.iface.groups.mld} {
		if host == nil {
			continue
		}
		if at := tcp.Time(host.Tick(multicast.Time(now), l.sendGroupReport)); at != 0 && (next == 0 || at < next) {
			next = at
		}
	}
	return next
}

// sendGroupReport sends a report of IGMP or MLD.
func (l *reader) sendGroupReport(r *wire.GroupReport) {
	group := r.Group
	if len(r.Records) > 0 {
		group = r.Records[0].Group
	}
	if group.Is6() {
		l.sendMLD(r)
	} else {
		l.sendIGMP(r)
	}
}

// sendIGMP sends a report of IGMP. Without an address, its source is 0.0.0.0 (RFC 3376, section
// 4.2.13).
func (l *reader) sendIGMP(r *wire.GroupReport) {
	dst := r.IGMPDst()
	src := l.iface.sourceFor(dst)
	if !src.IsValid() {
		src = netip.IPv4Unspecified()
	}
	message := wire.AppendIGMPReport(nil, r)
	l.sendToGroup(dst, wire.TypeIPv4, wire.AppendIPv4(nil, &wire.IPv4Fields{TOS: groupTOS, TTL: groupHops, DontFragment: true, Protocol: wire.IGMPProtocol, Src: src, Dst: dst, Options: wire.RouterAlertOption(), Payload: len(message)}), message)
}

// sendMLD sends a report of MLD. Its source is link-local, or unspecified before the stack has such
// an address (RFC 3810, section 5.2.13).
func (l *reader) sendMLD(r *wire.GroupReport) {
	dst := r.MLDDst()
	src := l.iface.sourceFor(allNodes)
	if !src.IsLinkLocalUnicast() {
		src = netip.IPv6Unspecified()
	}
	message := wire.AppendMLDReport(wire.AppendRouterAlert(nil, wire.ICMPv6Protocol), src, dst, r)
	l.sendToGroup(dst, wire.TypeIPv6, wire.AppendIPv6(nil, &wire.IPv6Fields{NextHeader: wire.HopByHop, HopLimit: groupHops, Src: src, Dst: dst, Payload: len(message)}), message)
}

// sendToGroup sends a packet to a group on the link.
func (l *reader) sendToGroup(dst netip.Addr, t wire.EtherType, header, message []byte) {
	mac, _ := l.iface.groupMAC(dst)
	head := append(l.iface.appendFrameHeader(make([]byte, 0, 128), mac, t), header...)
	if !l.queue.Write(&link.Parts{Head: head, Body: [2][]byte{message}}) {
		l.s.drops.add(DropDevice)
	}
}
