package wire

import (
	"encoding/binary"
	"net/netip"
	"time"
)

// IGMPProtocol is the protocol of IGMP in IPv4 packets.
const IGMPProtocol Protocol = 2

// IGMPType is the type of an IGMP message.
type IGMPType uint8

// The types of messages (RFC 3376, section 4).
const (
	MembershipQuery   IGMPType = 0x11
	MembershipReport1 IGMPType = 0x12
	MembershipReport2 IGMPType = 0x16
	LeaveGroup        IGMPType = 0x17
	MembershipReport3 IGMPType = 0x22
)

// igmpHeader is the length of the shortest message, in bytes.
const igmpHeader = 8

// oldMaxResponse is the longest delay of an answer to a query of IGMPv1 (RFC 3376, section 7.2.1).
const oldMaxResponse = 10 * time.Second

// IGMP is an IGMP message.
type IGMP []byte

// ParseIGMP returns the view of a message.
func ParseIGMP(b []byte) (IGMP, Fault) {
	if len(b) < igmpHeader {
		return nil, Short
	}
	return IGMP(b), OK
}

// Type is the type of the message.
func (m IGMP) Type() IGMPType { return IGMPType(m[0]) }

// Group is the group of a message that is no report of version 3.
func (m IGMP) Group() netip.Addr { return addrAt(m[4:], 4) }

// ChecksumOK reports whether the checksum is right.
func (m IGMP) ChecksumOK() bool { return Sum{}.Add(m).OK() }

// ParseIGMPQuery reads a query. Its length tells the version (RFC 3376, section 7.1).
func ParseIGMPQuery(m IGMP) (q GroupQuery, fault Fault) {
	q.Group = m.Group()
	switch {
	case !isGroupOrZero(q.Group):
		return q, WrongField
	case len(m) == igmpHeader && m[1] == 0:
		q.Version, q.MaxResponse = 1, oldMaxResponse
		return q, OK
	case len(m) == igmpHeader:
		q.Version, q.MaxResponse = 2, time.Duration(m[1])*100*time.Millisecond
		return q, OK
	case len(m) < igmpHeader+queryTail:
		return q, WrongLength
	}
	q.Version, q.MaxResponse = 3, time.Duration(decodeFloat(uint32(m[1]), 4))*100*time.Millisecond
	return q, q.parseTail(m[igmpHeader:], 4)
}

// AppendIGMPQuery appends a query.
func AppendIGMPQuery(b []byte, q *GroupQuery) []byte {
	start := len(b)
	response := uint32(q.MaxResponse / (100 * time.Millisecond))
	switch q.Version {
	case 1:
		response = 0
	case 3:
		response = encodeFloat(response, 4)
	}
	b = appendAddr(append(b, byte(MembershipQuery), byte(response), 0, 0), q.Group)
	if q.Version == 3 {
		b = q.appendTail(b)
	}
	return completeIGMP(b, start)
}

// ParseIGMPReport reads a report of any version, or a Leave Group message.
func ParseIGMPReport(m IGMP) (r GroupReport, fault Fault) {
	switch m.Type() {
	case MembershipReport3:
		r.Version = 3
		r.Records, fault = parseRecords(m[igmpHeader:], int(binary.BigEndian.Uint16(m[6:])), 4)
		return r, fault
	case MembershipReport1:
		r.Version = 1
	case MembershipReport2, LeaveGroup:
		r.Version, r.Leave = 2, m.Type() == LeaveGroup
	default:
		return r, WrongField
	}
	if r.Group = m.Group(); !r.Group.IsMulticast() {
		return r, WrongField
	}
	return r, OK
}

// AppendIGMPReport appends a report.
func AppendIGMPReport(b []byte, r *GroupReport) []byte {
	start := len(b)
	if r.Version == 3 {
		b = append(b, byte(MembershipReport3), 0, 0, 0, 0, 0)
		b = appendRecords(binary.BigEndian.AppendUint16(b, uint16(len(r.Records))), r.Records)
		return completeIGMP(b, start)
	}
	t := MembershipReport2
	switch {
	case r.Version == 1:
		t = MembershipReport1
	case r.Leave:
		t = LeaveGroup
	}
	return completeIGMP(appendAddr(append(b, byte(t), 0, 0, 0), r.Group), start)
}

// completeIGMP sets the checksum of the message that begins at start.
func completeIGMP(b []byte, start int) []byte {
	binary.BigEndian.PutUint16(b[start+2:], Sum{}.Add(b[start:]).Checksum())
	return b
}

// The groups of IGMP (RFC 3376, sections 4.1.12 and 4.2.14; RFC 2236, section 3).
var (
	allRouters4     = netip.AddrFrom4([4]byte{224, 0, 0, 2})
	igmpv3Routers   = netip.AddrFrom4([4]byte{224, 0, 0, 22})
	routerAlertIPv4 = [4]byte{0x94, 4}
)

// IGMPDst returns the destination of a report.
func (r *GroupReport) IGMPDst() netip.Addr {
	switch {
	case r.Version == 3:
		return igmpv3Routers
	case r.Leave:
		return allRouters4
	}
	return r.Group
}

// RouterAlertOption returns the IPv4 option that routers look at a packet for (RFC 2113).
func RouterAlertOption() []byte { return routerAlertIPv4[:] }

// HasRouterAlert reports whether IPv4 options, which are well formed, have a Router Alert.
func HasRouterAlert(options []byte) bool {
	for len(options) > 0 && options[0] != 0 {
		switch {
		case options[0] == 1:
			options = options[1:]
			continue
		case options[0] == routerAlertIPv4[0]:
			return true
		case len(options) < 2 || options[1] < 2 || int(options[1]) > len(options):
			return false
		}
		options = options[options[1]:]
	}
	return false
}
