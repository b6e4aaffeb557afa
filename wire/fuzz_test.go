package wire

import (
	"bytes"
	"testing"
)

// A header that is parsed and written again has the same bytes, except for reserved bits and a
// wrong checksum.

func FuzzEthernet(f *testing.F) {
	f.Add(append(AppendTagged(nil, bob, alice, NewTag(1, false, 2), TypeIPv4), "payload"...))
	f.Add(AppendEthernet(nil, Broadcast, alice, TypeARP))
	f.Fuzz(func(t *testing.T, b []byte) {
		e, fault := ParseEthernet(b)
		if fault != OK {
			return
		}
		again := AppendEthernet(nil, e.Dst(), e.Src(), e.Type())
		if e.IsTagged() {
			again = AppendTagged(nil, e.Dst(), e.Src(), NewTag(e.Tag().Priority(), e.Tag().DropEligible(), e.Tag().VLANID()), e.Type())
		}
		if again = append(again, e.Payload()...); !bytes.Equal(again, b) {
			t.Errorf("% x, parsed and written again: got % x, want the same", b, again)
		}
	})
}

func FuzzARP(f *testing.F) {
	f.Add(AppendARP(nil, ARPRequest, alice, from, MAC{}, to))
	f.Fuzz(func(t *testing.T, b []byte) {
		a, fault := ParseARP(b)
		if fault != OK {
			return
		}
		if again := AppendARP(nil, a.Operation(), a.SenderMAC(), a.Sender(), a.TargetMAC(), a.Target()); !bytes.Equal(again, a) {
			t.Errorf("% x, parsed and written again: got % x, want the same", a, again)
		}
	})
}

func FuzzIPv4(f *testing.F) {
	f.Add(append(AppendIPv4(nil, &IPv4Fields{TOS: 1, ID: 2, DontFragment: true, TTL: 64, Protocol: TCPProtocol, Src: from, Dst: to, Options: []byte{1, 1, 1, 0}, Payload: 3}), "abc"...))
	f.Add(AppendIPv4(nil, &IPv4Fields{MoreFragments: true, FragmentOffset: 65528, Src: from, Dst: to}))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, fault := ParseIPv4(b)
		if fault != OK || len(p) > IPv4Largest {
			return
		}
		again := AppendIPv4(nil, &IPv4Fields{TOS: p.TOS(), ID: p.ID(), DontFragment: p.DontFragment(), MoreFragments: p.MoreFragments(), FragmentOffset: p.FragmentOffset(),
			TTL: p.TTL(), Protocol: p.Protocol(), Src: p.Src(), Dst: p.Dst(), Options: p.Options(), Payload: len(p.Payload())})
		if v, fault := ParseIPv4(append(again, p.Payload()...)); fault != OK || !v.ChecksumOK() || v.IsFragment() != p.IsFragment() {
			t.Errorf("% x, parsed, written as % x and parsed again: got fault %v, right checksum %t; want a valid packet that is equally a fragment", p, again, fault, fault == OK && v.ChecksumOK())
		}
		if p[6]&0x80 == 0 && p.ChecksumOK() && !bytes.Equal(again[:10], p[:10]) || !bytes.Equal(again[12:], p[12:p.HeaderLen()]) {
			t.Errorf("the header % x, parsed and written again: got % x, want the same", p[:p.HeaderLen()], again)
		}
	})
}

func FuzzICMP(f *testing.F) {
	f.Add(AppendICMP(nil, EchoRequest, 0, EchoHeader(1, 2), []byte("ping")))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, fault := ParseICMP(b)
		if fault != OK {
			return
		}
		again, _ := ParseICMP(AppendICMP(nil, m.Type(), m.Code(), m.RestOfHeader(), m.Body()))
		if !again.ChecksumOK() || again.EchoID() != m.EchoID() || again.EchoSeq() != m.EchoSeq() || again.NextMTU() != int(m.EchoSeq()) || !bytes.Equal(again.Body(), m.Body()) {
			t.Errorf("% x, parsed and written again: got % x, want the same fields and a right checksum", m, again)
		}
	})
}

func FuzzUDP(f *testing.F) {
	f.Add([]byte{0, 1, 0, 2, 0, 9, 0, 0, 'x'})
	f.Fuzz(func(t *testing.T, b []byte) {
		d, fault := ParseUDP(b)
		if fault != OK || len(d) > IPv4Largest {
			return
		}
		again, fault := ParseUDP(append(AppendUDP(nil, addrPort(from, d.SrcPort()), addrPort(to, d.DstPort()), d.Payload()), d.Payload()...))
		if fault != OK || !again.ChecksumOK(from, to) || !bytes.Equal(again[:6], d[:6]) && len(b) <= IPv4Largest || !bytes.Equal(again.Payload(), d.Payload()) {
			t.Errorf("% x, parsed and written again: got % x, fault %v; want the same fields and a right checksum", d, again, fault)
		}
		if d[6]|d[7] != 0 && d.ChecksumOK(from, to) && !bytes.Equal(again, d) && [2]byte(d[6:8]) != [2]byte{0xff, 0xff} {
			t.Errorf("% x, parsed and written again: got % x, want the same checksum", d, again)
		}
	})
}

func FuzzTCP(f *testing.F) {
	o := TCPOptions{MSS: 1460, SACKPermitted: true, HasTimestamps: true, TSVal: 9, HasWindowScale: true, WindowScale: 7}
	f.Add(AppendTCP(nil, &TCPFields{Src: addrPort(from, 1), Dst: addrPort(to, 2), Seq: 3, Ack: 4, Flags: SYN | ACK, Window: 5, Urgent: 6, Options: o.Append(nil)}))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, fault := ParseTCP(b)
		if fault != OK {
			return
		}
		again := append(AppendTCP(nil, &TCPFields{Src: addrPort(from, s.SrcPort()), Dst: addrPort(to, s.DstPort()), Seq: s.Seq(), Ack: s.Ack(), Flags: s.Flags(),
			Window: s.Window(), Urgent: s.Urgent(), Options: s.Options()}, s.Payload()), s.Payload()...)
		if v, fault := ParseTCP(again); fault != OK || !v.ChecksumOK(from, to) || v.SeqLen() != s.SeqLen() {
			t.Errorf("% x, parsed, written and parsed again: got fault %v, right checksum %t; want a valid segment of the same length", again, fault, fault == OK && v.ChecksumOK(from, to))
		}
		if !bytes.Equal(again[:12], s[:12]) || again[12]>>4 != s[12]>>4 || !bytes.Equal(again[13:16], s[13:16]) || !bytes.Equal(again[18:], s[18:]) {
			t.Errorf("% x, parsed and written again: got % x, want the same, except for the checksum", s, again)
		}
	})
}

func FuzzOptions(f *testing.F) {
	for _, o := range []TCPOptions{{MSS: 1, SACKPermitted: true, HasTimestamps: true, HasWindowScale: true, WindowScale: 9}, {SACKCount: 3, SACK: [4]Block{{1, 2}, {3, 4}, {5, 6}}, HasTimestamps: true}, {UserTimeout: 40_000_000_000_000}, {HasFastOpen: true}, {HasFastOpen: true, FastOpen: FastOpenCookie{16, [16]byte{15: 7}}}} {
		f.Add(o.Append(nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		o, _ := ParseTCPOptions(b)
		for i := o.SACKCount; i < MaxSACK; i++ {
			o.SACK[i] = Block{} // of a repeated option the last one counts
		}
		written := o.Append(nil)
		if again, fault := ParseTCPOptions(written); fault != OK || again != o || len(written)%4 != 0 {
			t.Errorf("%+v, written as % x and parsed again: got %+v, fault %v; want the same in a multiple of 4 bytes", o, written, again, fault)
		}
	})
}
