package wire

import (
	"encoding/binary"
	"net/netip"
)

// ARPLength is the length of a message of ARP for IPv4 over Ethernet.
const ARPLength = 28

// ARPOperation is what a message of ARP does.
type ARPOperation uint16

// The operations (RFC 826).
const (
	ARPRequest ARPOperation = 1
	ARPReply   ARPOperation = 2
)

// ARP is a message of ARP for IPv4 over Ethernet (RFC 826).
type ARP []byte

// ParseARP gives the view of a message, cut to its length: frames are padded.
func ParseARP(b []byte) (ARP, Fault) {
	if len(b) < ARPLength {
		return nil, Short
	}
	if binary.BigEndian.Uint64(b)>>16 != 1<<32|uint64(TypeIPv4)<<16|6<<8|4 {
		return nil, WrongHardware
	}
	return ARP(b[:ARPLength]), OK
}

// Operation is what it does.
func (a ARP) Operation() ARPOperation { return ARPOperation(binary.BigEndian.Uint16(a[6:8])) }

// SenderMAC is who speaks.
func (a ARP) SenderMAC() MAC { return MAC(a[8:14]) }

// Sender is who speaks.
func (a ARP) Sender() netip.Addr { return netip.AddrFrom4([4]byte(a[14:18])) }

// TargetMAC is who is spoken to; of a request nobody knows.
func (a ARP) TargetMAC() MAC { return MAC(a[18:24]) }

// Target is who is spoken to.
func (a ARP) Target() netip.Addr { return netip.AddrFrom4([4]byte(a[24:28])) }

// AppendARP appends a message. The addresses are of IPv4.
func AppendARP(b []byte, op ARPOperation, senderMAC MAC, sender netip.Addr, targetMAC MAC, target netip.Addr) []byte {
	s, t := sender.As4(), target.As4()
	b = append(b, 0, 1, byte(TypeIPv4>>8), byte(TypeIPv4&0xff), 6, 4)
	b = binary.BigEndian.AppendUint16(b, uint16(op))
	b = append(append(b, senderMAC[:]...), s[:]...)
	return append(append(b, targetMAC[:]...), t[:]...)
}
