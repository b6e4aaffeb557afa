package wire

import (
	"encoding/binary"
	"net/netip"
	"time"
)

// Lengths of MLD messages, in bytes.
const (
	mldOld   = ICMPHeader + 16    // of version 1
	mldQuery = mldOld + queryTail // of a query of version 2 without sources
)

// Group is the group of a message of MLD that is no report of version 2; invalid if there is none.
func (m ICMPv6) Group() netip.Addr {
	if len(m) < mldOld {
		return netip.Addr{}
	}
	return addrAt(m.Body(), 16)
}

// ParseMLDQuery reads a query. Its length tells the version (RFC 3810, section 8.1).
func ParseMLDQuery(m ICMPv6) (q GroupQuery, fault Fault) {
	if len(m) < mldOld {
		return q, Short
	}
	code := uint32(binary.BigEndian.Uint16(m[4:]))
	q.Group = m.Group()
	switch {
	case m.Code() != 0 || !isGroupOrZero(q.Group):
		return q, WrongField
	case len(m) == mldOld:
		q.Version, q.MaxResponse = 1, time.Duration(code)*time.Millisecond
		return q, OK
	case len(m) < mldQuery:
		return q, WrongLength
	}
	q.Version, q.MaxResponse = 2, time.Duration(decodeFloat(code, 12))*time.Millisecond
	return q, q.parseTail(m[mldOld:], 16)
}

// AppendMLDQuery appends a query.
func AppendMLDQuery(b []byte, src, dst netip.Addr, q *GroupQuery) []byte {
	code := uint32(q.MaxResponse / time.Millisecond)
	body := appendAddr(nil, q.Group)
	if q.Version == 2 {
		code, body = encodeFloat(code, 12), q.appendTail(body)
	}
	return AppendICMPv6(b, src, dst, ListenerQuery, 0, code<<16, body)
}

// ParseMLDReport reads a report of any version, or a Done message.
func ParseMLDReport(m ICMPv6) (r GroupReport, fault Fault) {
	switch m.Type() {
	case ListenerReport2:
		r.Version = 2
		r.Records, fault = parseRecords(m.Body(), int(m.RestOfHeader()&0xffff), 16)
		return r, fault
	case ListenerReport1, ListenerDone:
		r.Version, r.Leave = 1, m.Type() == ListenerDone
	default:
		return r, WrongField
	}
	if len(m) < mldOld {
		return r, Short
	}
	if r.Group = m.Group(); !r.Group.IsMulticast() {
		return r, WrongField
	}
	return r, OK
}

// AppendMLDReport appends a report.
func AppendMLDReport(b []byte, src, dst netip.Addr, r *GroupReport) []byte {
	switch {
	case r.Version == 2:
		return AppendICMPv6(b, src, dst, ListenerReport2, 0, uint32(len(r.Records)), appendRecords(nil, r.Records))
	case r.Leave:
		return AppendICMPv6(b, src, dst, ListenerDone, 0, 0, appendAddr(nil, r.Group))
	}
	return AppendICMPv6(b, src, dst, ListenerReport1, 0, 0, appendAddr(nil, r.Group))
}

// The groups of MLD (RFC 3810, section 5.2.14; RFC 2710, section 3).
var (
	allRouters6  = netip.AddrFrom16([16]byte{0xff, 2, 15: 2})
	mldv2Routers = netip.AddrFrom16([16]byte{0xff, 2, 15: 0x16})
)

// MLDDst returns the destination of a report.
func (r *GroupReport) MLDDst() netip.Addr {
	switch {
	case r.Version == 2:
		return mldv2Routers
	case r.Leave:
		return allRouters6
	}
	return r.Group
}

// AppendRouterAlert appends a Hop-by-Hop header with a Router Alert for MLD (RFC 2711).
func AppendRouterAlert(b []byte, next Protocol) []byte {
	return append(b, byte(next), 0, routerAlert, 2, 0, 0, padN, 0)
}
