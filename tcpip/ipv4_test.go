package tcpip

import (
	"bytes"
	"maps"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"weir/wire"
)

// Packets are answered by an ICMP error, or not at all (RFC 1122, sections 3.2.1 and 3.2.2).
func TestWhichPacketsAreAnsweredByICMPErrors(t *testing.T) {
	udp := wire.UDPProtocol
	from := func(a string) netip.Addr { return netip.MustParseAddr(a) }
	for _, c := range []struct {
		name    string
		f       wire.IPv4Fields
		to      wire.MAC // zero: the stack's
		payload []byte
		kind    wire.ICMPType // 0: silence
		code    uint8
		rest    uint32
		why     Drop
	}{
		{name: "a datagram for a closed port", f: wire.IPv4Fields{Protocol: udp}, payload: datagramTo(9, "x"), kind: wire.Unreachable, code: wire.PortUnreachable, why: DropUDPPort},
		{name: "the same at its last hop", f: wire.IPv4Fields{Protocol: udp, TTL: 1}, payload: datagramTo(9, "x"), kind: wire.Unreachable, code: wire.PortUnreachable, why: DropUDPPort},
		{name: "an unknown protocol", f: wire.IPv4Fields{Protocol: 99}, payload: []byte("12345678"), kind: wire.Unreachable, code: wire.ProtocolUnreachable, why: DropProtocol},
		{name: "an unknown option", f: wire.IPv4Fields{Protocol: 99, Options: []byte{0x99, 4, 1, 2}}, payload: []byte("12345678"), kind: wire.Unreachable, code: wire.ProtocolUnreachable, why: DropProtocol},
		{name: "an option that is longer than the header", f: wire.IPv4Fields{Protocol: udp, Options: []byte{1, 7, 9, 4}}, payload: datagramTo(9, "x"), kind: wire.ParameterProblem, rest: 21 << 24, why: DropOptions},
		{name: "a source route", f: wire.IPv4Fields{Protocol: udp, Options: []byte{131, 7, 4, 10, 0, 0, 7, 0}}, payload: datagramTo(9, "x"), why: DropOptions},
		{name: "for everybody", f: wire.IPv4Fields{Protocol: udp, Dst: from("10.0.0.255")}, payload: datagramTo(9, ""), why: DropUDPHeader},
		{name: "broadcast with an unknown protocol", f: wire.IPv4Fields{Protocol: 99, Dst: from("255.255.255.255")}, payload: []byte("12345678"), why: DropProtocol},
		{name: "for the stack, but sent to all", f: wire.IPv4Fields{Protocol: 99}, to: wire.Broadcast, payload: []byte("12345678"), why: DropProtocol},
		{name: "for another host", f: wire.IPv4Fields{Protocol: 99, Dst: from("10.0.0.8")}, payload: []byte("12345678"), why: DropNotOurs},
		{name: "for the loopback", f: wire.IPv4Fields{Protocol: 99, Dst: from("127.0.0.1")}, payload: []byte("12345678"), why: DropNotOurs},
		{name: "from the stack's own address", f: wire.IPv4Fields{Protocol: 99, Src: stackAddr}, payload: []byte("12345678"), why: DropSource},
		{name: "from everybody", f: wire.IPv4Fields{Protocol: 99, Src: from("10.0.0.255")}, payload: []byte("12345678"), why: DropSource},
		{name: "from nobody", f: wire.IPv4Fields{Protocol: 99, Src: from("0.0.0.0")}, payload: []byte("12345678"), why: DropSource},
		{name: "from a group", f: wire.IPv4Fields{Protocol: 99, Src: from("224.0.0.1")}, payload: []byte("12345678"), why: DropSource},
		{name: "from the loopback", f: wire.IPv4Fields{Protocol: 99, Src: from("127.0.0.1")}, payload: []byte("12345678"), why: DropSource},
		{name: "an error about nothing that was sent", f: wire.IPv4Fields{Protocol: wire.ICMPv4Protocol}, payload: wire.AppendICMP(nil, wire.Unreachable, wire.PortUnreachable, 0, make([]byte, 28)), why: DropICMP},
		{name: "an unknown message", f: wire.IPv4Fields{Protocol: wire.ICMPv4Protocol}, payload: wire.AppendICMP(nil, 99, 0, 0, nil), why: DropICMP},
		{name: "a broadcast echo", f: wire.IPv4Fields{Protocol: wire.ICMPv4Protocol, Dst: from("10.0.0.255")}, payload: wire.AppendICMP(nil, wire.EchoRequest, 0, 0, nil), why: DropICMP},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, h := bare(t, Config{})
				if c.to == (wire.MAC{}) {
					c.to = h.stack
				}
				h.sendTo(c.to, c.f, c.payload)
				v := h.next(5 * time.Second)
				if got := h.drops(); !maps.Equal(got, map[Drop]uint64{c.why: 1}) {
					t.Errorf("got drops %v, want one for %v", got, c.why)
				}
				if c.kind == 0 {
					if v != nil {
						t.Errorf("got the answer % x, want none", []byte(v))
					}
					return
				}
				m := icmpOf(t, v)
				if m.Type() != c.kind || m.Code() != c.code || m.RestOfHeader() != c.rest || v.Src() != stackAddr || v.Dst() != bareAddr || v.TTL() != 64 {
					t.Errorf("got the ICMP error %d, %d, %#x from %v to %v, want %d, %d, %#x", m.Type(), m.Code(), m.RestOfHeader(), v.Src(), v.Dst(), c.kind, c.code, c.rest)
				}
				if !bytes.HasSuffix(m.Body(), c.payload) {
					t.Errorf("the error quotes % x, want the packet's header and 8 bytes", m.Body())
				}
			})
		})
	}
}

// A packet whose fragments do not all arrive causes an ICMP error after 30 s, if the first of them
// has arrived (RFC 792).
func TestReassemblyTimesOut(t *testing.T) {
	for offset, reported := range map[int]bool{0: true, 8: false} {
		synctest.Test(t, func(t *testing.T) {
			_, h := bare(t, Config{})
			began := time.Now()
			h.send(wire.IPv4Fields{ID: 7, Protocol: wire.UDPProtocol, FragmentOffset: offset, MoreFragments: true}, make([]byte, 16))
			v := h.next(time.Minute)
			if took := time.Since(began); reported && (took < 30*time.Second || took > 31*time.Second) {
				t.Errorf("the error came after %v, want 30 s", took)
			}
			if (v != nil) != reported {
				t.Fatalf("fragments from offset %d: got an ICMP error: %t, want %t (only if the first fragment has arrived: RFC 792)", offset, v != nil, reported)
			}
			if reported {
				if m := icmpOf(t, v); m.Type() != wire.TimeExceeded || m.Code() != wire.ReassemblyExceeded {
					t.Errorf("got ICMP type %d, code %d, want time exceeded in reassembly", m.Type(), m.Code())
				}
			}
		})
	}
}

// The rate of ICMP errors is limited.
func TestICMPErrorsAreRateLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, h := bare(t, Config{ErrorRate: 1})
		answered := 0
		for range 100 {
			h.send(wire.IPv4Fields{Protocol: 99}, []byte("12345678"))
			if h.next(10*time.Millisecond) != nil {
				answered++
			}
		}
		if answered < 5 || answered > 30 { // ten at once, on average
			t.Errorf("%d of 100 packets caused an error, want about 10", answered)
		}
	})
}

// An echo reply has the data, the TOS and the answered options of the request (RFC 1122, section
// 3.2.2.6), and the configured TTL.
func TestAnEchoRequestIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, h := bare(t, Config{TTL: 17})
		request := wire.AppendICMP(nil, wire.EchoRequest, 0, wire.EchoHeader(7, 9), []byte("data"))
		h.send(wire.IPv4Fields{TOS: 0xb8, TTL: 1, Protocol: wire.ICMPv4Protocol, Options: []byte{7, 11, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0}}, request)
		v := h.next(time.Second)
		m := icmpOf(t, v)
		if m.Type() != wire.EchoReply || m.EchoID() != 7 || m.EchoSeq() != 9 || string(m.Body()) != "data" || v.TOS() != 0xb8 || v.TTL() != 17 {
			t.Errorf("got the packet % x, want an echo reply with the request's identifier, number, data and TOS, with TTL 17 and without options", []byte(v))
		}
		if want := []byte{7, 11, 8, 10, 0, 0, 1, 0, 0, 0, 0, 0}; !bytes.Equal(v.Options(), want) {
			t.Errorf("got the options % x, want % x", v.Options(), want)
		}
	})
}
