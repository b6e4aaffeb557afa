package wire

import (
	"bytes"
	"net/netip"
	"strings"
	"testing"
	"time"
)

var (
	alice = MAC{2, 0, 0, 0, 0, 1}
	bob   = MAC{2, 0, 0, 0, 0, 2}
	from  = netip.MustParseAddr("10.0.0.1")
	to    = netip.MustParseAddr("10.0.0.2")
)

func addrPort(a netip.Addr, port uint16) netip.AddrPort { return netip.AddrPortFrom(a, port) }

func parses[V ~[]byte](parse func([]byte) (V, Fault)) func([]byte) ([]byte, Fault) {
	return func(b []byte) ([]byte, Fault) { v, fault := parse(b); return v, fault }
}

// A malformed packet yields its fault and no view.
func TestMalformedPacketsYieldTheirFault(t *testing.T) {
	ip := AppendIPv4(nil, &IPv4Fields{TTL: 64, Src: from, Dst: to})
	with := func(b []byte, at int, v ...byte) []byte { b = bytes.Clone(b); copy(b[at:], v); return b }
	udp := AppendUDP(nil, addrPort(from, 1), addrPort(to, 2), nil)
	tcp := AppendTCP(nil, &TCPFields{Src: addrPort(from, 1), Dst: addrPort(to, 2)})
	arp := AppendARP(nil, ARPRequest, alice, from, MAC{}, to)
	for _, c := range []struct {
		name  string
		parse func([]byte) ([]byte, Fault)
		b     []byte
		want  Fault
	}{
		{"a frame of 13 bytes", parses(ParseEthernet), make([]byte, 13), Short},
		{"a frame that ends in its tag", parses(ParseEthernet), AppendTagged(nil, bob, alice, 1, TypeIPv4)[:17], Short},
		{"nothing", parses(ParseIPv4), nil, Short},
		{"IPv6", parses(ParseIPv4), with(ip, 0, 0x65), WrongVersion},
		{"a header of 16 bytes", parses(ParseIPv4), with(ip, 0, 0x44), WrongLength},
		{"a header longer than its packet", parses(ParseIPv4), with(ip, 0, 0x46), WrongLength},
		{"a packet longer than its frame", parses(ParseIPv4), with(ip, 2, 0, 21), Short},
		{"a packet shorter than its header", parses(ParseIPv4), with(ip, 2, 0, 19), WrongLength},
		{"ARP of 27 bytes", parses(ParseARP), arp[:27], Short},
		{"ARP for another protocol", parses(ParseARP), with(arp, 2, 0x86, 0xdd), WrongHardware},
		{"ARP with long hardware addresses", parses(ParseARP), with(arp, 4, 8), WrongHardware},
		{"ICMP of 7 bytes", parses(ParseICMP), make([]byte, 7), Short},
		{"a datagram of 7 bytes", parses(ParseUDP), udp[:7], Short},
		{"a datagram shorter than its header", parses(ParseUDP), with(udp, 4, 0, 7), WrongLength},
		{"a datagram longer than its packet", parses(ParseUDP), with(udp, 4, 0, 9), Short},
		{"a segment of 19 bytes", parses(ParseTCP), tcp[:19], Short},
		{"a segment's header of 16 bytes", parses(ParseTCP), with(tcp, 12, 0x40), WrongLength},
		{"a segment's header longer than it", parses(ParseTCP), with(tcp, 12, 0x60), Short},
	} {
		if v, fault := c.parse(c.b); fault != c.want || v != nil {
			t.Errorf("%s: fault %v (view %v), want %v", c.name, fault, v, c.want)
		}
	}
}

func TestPaddingIsCutOff(t *testing.T) {
	packet := AppendIPv4(nil, &IPv4Fields{TTL: 1, Protocol: UDPProtocol, Src: from, Dst: to, Payload: 9})
	packet = AppendUDP(packet, addrPort(from, 1), addrPort(to, 2), []byte("x"))
	packet = append(packet, "x and 46 bytes are what a frame has at least......"...)
	p, fault := ParseIPv4(packet)
	if fault != OK || len(p) != 29 {
		t.Fatalf("got %d bytes (%v), want 29", len(p), fault)
	}
	d, fault := ParseUDP(p.Payload())
	if fault != OK || string(d.Payload()) != "x" || !d.ChecksumOK(from, to) || !p.ChecksumOK() {
		t.Errorf("got payload %q (%v), want x and right checksums", d.Payload(), fault)
	}
}

// A superframe is longer than its length field can express; devices set it to zero.
func TestLengthZeroIsASuperframe(t *testing.T) {
	packet := append(AppendIPv4(nil, &IPv4Fields{TTL: 1, Src: from, Dst: to}), make([]byte, 70_000)...)
	packet[2], packet[3] = 0, 0
	if p, fault := ParseIPv4(packet); fault != OK || len(p.Payload()) != 70_000 {
		t.Errorf("got %d bytes of payload (%v), want 70000", len(p.Payload()), fault)
	}
	if _, fault := ParseIPv4(packet[:100]); fault != WrongLength {
		t.Errorf("a short packet with length zero: fault %v, want an impossible length", fault)
	}
}

func TestTypeAndPayloadFollowTheTag(t *testing.T) {
	b := append(AppendTagged(nil, bob, alice, NewTag(5, true, 42), TypeARP), 1, 2)
	e, fault := ParseEthernet(b)
	if fault != OK || e.Dst() != bob || e.Src() != alice || e.Type() != TypeARP || !bytes.Equal(e.Payload(), []byte{1, 2}) {
		t.Errorf("got frame %v (%v), want the addresses, type and payload after the tag", e, fault)
	}
	if tag := e.Tag(); tag.Priority() != 5 || !tag.DropEligible() || tag.VLANID() != 42 {
		t.Errorf("got tag %d %t %d, want 5 true 42", tag.Priority(), tag.DropEligible(), tag.VLANID())
	}
	if plain, _ := ParseEthernet(AppendEthernet(nil, Broadcast, alice, TypeIPv4)); plain.Tag() != 0 || plain.Type() != TypeIPv4 || !plain.Dst().IsGroup() {
		t.Errorf("a frame without a tag: got type %v, tag %x; want IPv4 to a group address without a tag", plain.Type(), uint16(plain.Tag()))
	}
}

// The order and padding are Linux's, in a SYN and in segments with SACK blocks.
func TestOptionsAreEncodedAsInLinux(t *testing.T) {
	for _, c := range []struct {
		name string
		o    TCPOptions
		want string
	}{
		{"a SYN", TCPOptions{MSS: 1460, SACKPermitted: true, HasTimestamps: true, TSVal: 1, HasWindowScale: true, WindowScale: 7},
			"\x02\x04\x05\xb4\x04\x02\x08\x0a\x00\x00\x00\x01\x00\x00\x00\x00\x01\x03\x03\x07"},
		{"a SYN without timestamps", TCPOptions{MSS: 1460, SACKPermitted: true, HasWindowScale: true, WindowScale: 7}, "\x02\x04\x05\xb4\x01\x01\x04\x02\x01\x03\x03\x07"},
		{"timestamps", TCPOptions{HasTimestamps: true, TSVal: 0x01020304, TSEcr: 0x05060708}, "\x01\x01\x08\x0a\x01\x02\x03\x04\x05\x06\x07\x08"},
		{"a SACK block", TCPOptions{SACKCount: 1, SACK: [4]Block{{1, 2}}}, "\x01\x01\x05\x0a\x00\x00\x00\x01\x00\x00\x00\x02"},
		{"a user timeout of 100 s", TCPOptions{UserTimeout: 100 * time.Second}, "\x1c\x04\x00\x64"},
		{"a request for a Fast Open cookie", TCPOptions{HasFastOpen: true}, "\x22\x02\x01\x01"},
		{"a Fast Open cookie", TCPOptions{HasFastOpen: true, FastOpen: FastOpenCookie{6, [16]byte{1, 2, 3, 4, 5, 6}}}, "\x22\x08\x01\x02\x03\x04\x05\x06"},
		{"no options", TCPOptions{}, ""},
	} {
		b := c.o.Append(nil)
		if string(b) != c.want {
			t.Errorf("%s: encoded as % x, want % x", c.name, b, c.want)
		}
		if again, fault := ParseTCPOptions(b); fault != OK || again != c.o {
			t.Errorf("%s: parsed again as %+v, fault %v; want %+v", c.name, again, fault, c.o)
		}
	}
}

func TestUnknownOptionsAreSkippedAndMalformedOnesReported(t *testing.T) {
	for _, c := range []struct {
		name, b string
		want    TCPOptions
		fault   Fault
	}{
		{"an unknown kind is skipped", "\xfd\x04\xf9\x89\x02\x04\x05\xb4", TCPOptions{MSS: 1460}, OK},
		{"options after the end of the list are ignored", "\x00\x02\x04\x05\xb4", TCPOptions{}, OK},
		{"a length of one", "\x02\x04\x05\xb4\x08\x01", TCPOptions{MSS: 1460}, WrongOption},
		{"a length of zero", "\x08\x00", TCPOptions{}, WrongOption},
		{"an option that ends beyond the header", "\x01\x02\x04\x05", TCPOptions{}, WrongOption},
		{"a kind without a length", "\x02", TCPOptions{}, WrongOption},
		{"an MSS of three bytes is ignored", "\x02\x05\x05\xb4\x00", TCPOptions{}, OK},
		{"a window scale above 14 is 14", "\x03\x03\x0f", TCPOptions{HasWindowScale: true, WindowScale: 14}, OK},
		{"a Fast Open cookie of an odd length is ignored", "\x22\x07\x01\x02\x03\x04\x05", TCPOptions{}, OK},
		{"a Fast Open cookie of two bytes is ignored", "\x22\x04\x01\x02", TCPOptions{}, OK},
		{"a Fast Open cookie of 18 bytes is ignored", "\x22\x14" + strings.Repeat("x", 18), TCPOptions{}, OK},
		{"half a SACK block is ignored", "\x05\x06\x00\x00\x00\x01", TCPOptions{}, OK},
	} {
		if o, fault := ParseTCPOptions([]byte(c.b)); o != c.want || fault != c.fault {
			t.Errorf("%s: parsed as %+v (%v), want %+v (%v)", c.name, o, fault, c.want, c.fault)
		}
	}
}

// A sequence number after the wrap at 2^32 is later.
func TestSequenceNumbersWrapAround(t *testing.T) {
	last := Seq(0xfffffff0)
	next := last.Add(0x20)
	if next != 0x10 || !last.Less(next) || next.Less(last) || next.Sub(last) != 0x20 || last.Sub(next) != -0x20 || last.Max(next) != next || next.Max(last) != next {
		t.Errorf("%#x and %#x: got a wrong order, distance or maximum across the wrap at 2^32, want the second later by 0x20", last, next)
	}
	for _, c := range []struct {
		s    Seq
		want bool
	}{{0xfffffff0, true}, {0xffffffff, true}, {0, true}, {0xf, true}, {0x10, false}, {0xffffffef, false}} {
		if c.s.InWindow(last, 0x20) != c.want {
			t.Errorf("%#x in the window of 32 from %#x: got %t, want %t", c.s, last, !c.want, c.want)
		}
	}
	if old, now := Timestamp(0xffffffff), Timestamp(1); !old.Less(now) || now.Since(old, time.Millisecond) != 2*time.Millisecond {
		t.Errorf("timestamp %v since %v: got %v, want 2ms across the wrap", now, old, now.Since(old, time.Millisecond))
	}
}

func TestPartialChecksumIsCompletedByADevice(t *testing.T) {
	f := &TCPFields{Src: addrPort(from, 1), Dst: addrPort(to, 2), Seq: 7, Flags: ACK | PSH, Window: 9}
	parts := [][]byte{[]byte("odd"), []byte("even"), []byte("!")}
	whole := AppendTCP(nil, f, parts...)
	partial := AppendTCPPartial(nil, f, 8)
	completed := Sum{}.Add(partial).Add(bytes.Join(parts, nil)).Checksum()
	if got := uint16(whole[16])<<8 | uint16(whole[17]); got != completed {
		t.Errorf("the completed checksum is %#04x, want %#04x", completed, got)
	}
	s, _ := ParseTCP(append(whole, "oddeven!"...))
	if !s.ChecksumOK(from, to) || s.ChecksumOK(from, from) || s.SeqLen() != 8 {
		t.Errorf("the whole segment: got right checksum %t, with a wrong address %t, length %d; want true, false, 8", s.ChecksumOK(from, to), s.ChecksumOK(from, from), s.SeqLen())
	}
}
