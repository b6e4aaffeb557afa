package wire

import (
	"encoding/binary"
	"net/netip"
)

// ARPLength is the length of an ARP message for IPv4 over Ethernet, in bytes.
const ARPLength = 28

// ARPOperation is the operation of an ARP message.
type ARPOperation uint16

// The operations of ARP (RFC 826).
const (
	ARPRequest ARPOperation = 1
	ARPReply   ARPOperation = 2
)

// ARP is an ARP message for IPv4 over Ethernet (RFC 826).
type ARP []byte

// ParseARP returns the view of a message without the padding of its frame.
func ParseARP(b []byte) (ARP, Fault) {
	if len(b) < ARPLength {
		return nil, Short
	}
	if binary.BigEndian.Uint64(b)>>16 != 1<<32|uint64(TypeIPv4)<<16|6<<8|4 {
		return nil, WrongHardware
	}
	return ARP(b[:ARPLength]), OK
}

// Operation is the operation.
func (a ARP) Operation() ARPOperation { return ARPOperation(binary.BigEndian.Uint16(a[6:8])) }

// SenderMAC is the hardware address of the sender.
func (a ARP) SenderMAC() MAC { return MAC(a[8:14]) }

// Sender is the IPv4 address of the sender.
func (a ARP) Sender() netip.Addr { return netip.AddrFrom4([4]byte(a[14:18])) }

// TargetMAC is the hardware address of the target; in a request it is not known.
func (a ARP) TargetMAC() MAC { return MAC(a[18:24]) }

// Target is the IPv4 address of the target.
func (a ARP) Target() netip.Addr { return netip.AddrFrom4([4]byte(a[24:28])) }

// AppendARP appends a message. Both addresses must be IPv4.
func AppendARP(b []byte, op ARPOperation, senderMAC MAC, sender netip.Addr, targetMAC MAC, target netip.Addr) []byte {
	s, t := sender.As4(), target.As4()
	b = append(b, 0, 1, byte(TypeIPv4>>8), byte(TypeIPv4&0xff), 6, 4)
	b = binary.BigEndian.AppendUint16(b, uint16(op))
	b = append(append(b, senderMAC[:]...), s[:]...)
	return append(append(b, targetMAC[:]...), t[:]...)
}
