package netsim

import (
	"fmt"
	"strings"

	"weir/wire"
)

// packetKind is how the diagram draws a packet.
type packetKind string

const (
	dataPacket    packetKind = "data"    // with a payload
	ackPacket     packetKind = "ack"     // nothing but an acknowledgment
	controlPacket packetKind = "control" // it opens or closes a connection
	resetPacket   packetKind = "reset"
	errorPacket   packetKind = "error" // an ICMP error
	otherPacket   packetKind = "other"
)

// label describes a sent packet in a few words as tcpdump does, with sequence numbers relative to
// the connection's. c is nil for a packet without a connection.
func label(b []byte, c *connection, end int) (text string, kind packetKind, again bool) {
	p, _, _, transport, ok := splitIP(b)
	switch {
	case !ok:
		return fmt.Sprintf("%d bytes, no transport header", len(b)), otherPacket, false
	case p == wire.TCPProtocol && c != nil:
		if s, fault := wire.ParseTCP(transport); fault == wire.OK {
			return labelTCP(s, c, end)
		}
	case p == wire.UDPProtocol:
		payload := transport[wire.UDPHeader:]
		return fmt.Sprintf("UDP, length %d%s", len(payload), snippet(payload)), dataPacket, false
	case isICMP(p) && isICMPError(p, transport[0]):
		return errorName(p, transport), errorPacket, false
	case isICMP(p) && isEcho(p, transport[0]):
		return echoName(p, transport), dataPacket, false
	case isICMP(p):
		return fmt.Sprintf("ICMP type %d", transport[0]), otherPacket, false
	}
	return fmt.Sprintf("protocol %d, length %d", p, len(transport)), otherPacket, false
}

// labelTCP describes a segment, and notes what its end has sent. again reports whether all of its
// data, or its SYN or FIN, was sent before.
func labelTCP(s wire.TCP, c *connection, end int) (text string, kind packetKind, again bool) {
	own, peer, seq := &c.ends[end], &c.ends[1-end], uint32(s.Seq())
	if !own.started {
		own.started, own.first, own.next = true, seq, seq
	}
	flags, payload := s.Flags(), s.Payload()
	length := uint32(len(payload))
	space := length
	if flags&(wire.SYN|wire.FIN) != 0 {
		space++
	}
	behind := seq + space
	again = space > 0 && int32(behind-own.next) <= 0
	if int32(behind-own.next) > 0 {
		own.next = behind
	}
	text = "[" + flagLetters(flags) + "]"
	if length > 0 {
		text += fmt.Sprintf(" seq %d:%d", seq-own.first, seq-own.first+length)
	}
	if flags&wire.ACK != 0 && peer.started {
		text += fmt.Sprintf(" ack %d", uint32(s.Ack())-peer.first)
	}
	return text + snippet(payload), kindOf(flags, length), again
}

func kindOf(f wire.Flags, length uint32) packetKind {
	switch {
	case f&wire.RST != 0:
		return resetPacket
	case f&(wire.SYN|wire.FIN) != 0:
		return controlPacket
	case length > 0:
		return dataPacket
	}
	return ackPacket
}

// flagLetters writes flags as tcpdump does.
func flagLetters(f wire.Flags) string {
	letters := ""
	for _, l := range []struct {
		flag   wire.Flags
		letter string
	}{{wire.FIN, "F"}, {wire.SYN, "S"}, {wire.RST, "R"}, {wire.PSH, "P"}, {wire.ACK, "."}, {wire.URG, "U"}, {wire.ECE, "E"}, {wire.CWR, "W"}} {
		if f&l.flag != 0 {
			letters += l.letter
		}
	}
	if letters == "" {
		return "none"
	}
	return letters
}

// snippetLength is how many characters of a payload a label shows.
const snippetLength = 32

// snippet is the first line of a payload, behind a colon, if it is text; "": it is not.
func snippet(payload []byte) string {
	line, _, _ := strings.Cut(string(payload[:min(len(payload), 200)]), "\n")
	line = strings.TrimSuffix(line, "\r")
	if len(line) < 3 || strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r > '~' }) {
		return ""
	}
	if len(line) > snippetLength {
		line = line[:snippetLength] + "..."
	}
	return ": " + line
}

// errorName names an ICMP error.
func errorName(p wire.Protocol, icmp []byte) string {
	if m := wire.ICMPv6(icmp); p == wire.ICMPv6Protocol {
		switch wire.ICMPv6Type(icmp[0]) {
		case wire.Unreachable6:
			return fmt.Sprintf("ICMP unreachable, code %d", icmp[1])
		case wire.PacketTooBig6:
			return fmt.Sprintf("ICMP packet too big, MTU %d", m.RestOfHeader())
		case wire.TimeExceeded6:
			return "ICMP time exceeded"
		}
		return fmt.Sprintf("ICMP error, type %d", icmp[0])
	}
	switch t := wire.ICMPType(icmp[0]); {
	case t == wire.Unreachable && icmp[1] == wire.FragmentationNeeded:
		return fmt.Sprintf("ICMP fragmentation needed, MTU %d", wire.ICMP(icmp).NextMTU())
	case t == wire.Unreachable:
		return fmt.Sprintf("ICMP unreachable, code %d", icmp[1])
	case t == wire.TimeExceeded:
		return "ICMP time exceeded"
	}
	return fmt.Sprintf("ICMP error, type %d", icmp[0])
}

func echoName(p wire.Protocol, icmp []byte) string {
	request := wire.ICMPType(icmp[0]) == wire.EchoRequest
	if p == wire.ICMPv6Protocol {
		request = wire.ICMPv6Type(icmp[0]) == wire.EchoRequest6
	}
	if request {
		return "ICMP echo request"
	}
	return "ICMP echo reply"
}
