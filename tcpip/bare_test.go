package tcpip

import (
	"net/netip"
	"testing"
	"time"

	"weir/tcpip/link"
	"weir/wire"
)

// bareHost is a host whose frames a test writes and reads itself. It answers ARP requests. Its
// address is 10.0.0.9, the stack's is 10.0.0.1. It lives in virtual time (testing/synctest).
type bareHost struct {
	t     *testing.T
	s     *Stack
	q     link.Queue
	mac   wire.MAC
	stack wire.MAC
}

var bareAddr, stackAddr = netip.MustParseAddr("10.0.0.9"), netip.MustParseAddr("10.0.0.1")

// bare returns a stack and its only neighbour.
func bare(t *testing.T, c Config) (*Stack, *bareHost) {
	t.Helper()
	return bareOn(t, link.PairConfig{}, c)
}

// bareOn is bare on a given kind of link.
func bareOn(t *testing.T, on link.PairConfig, c Config) (*Stack, *bareHost) {
	t.Helper()
	la, lb := link.Pair(on)
	c.Link, c.Addrs = la, prefixes("10.0.0.1/24")
	s := stack(t, c)
	t.Cleanup(func() { lb.Close() })
	return s, &bareHost{t: t, s: s, q: lb.Queue(0), mac: wire.MAC{2, 0, 0, 0, 0, 9}, stack: la.Caps().MAC}
}

// send sends a packet; the default addresses are those of the two hosts.
func (h *bareHost) send(f wire.IPv4Fields, payload []byte) { h.sendTo(h.stack, f, payload) }

func (h *bareHost) sendTo(mac wire.MAC, f wire.IPv4Fields, payload []byte) {
	if !f.Src.IsValid() {
		f.Src = bareAddr
	}
	if !f.Dst.IsValid() {
		f.Dst = stackAddr
	}
	if f.TTL == 0 {
		f.TTL = 64
	}
	f.Payload = len(payload)
	h.q.Write(&link.Parts{Head: wire.AppendIPv4(wire.AppendEthernet(nil, mac, h.mac, wire.TypeIPv4), &f), Body: [2][]byte{payload}})
}

// next returns the stack's next packet, or nil if none arrives in time.
func (h *bareHost) next(wait time.Duration) wire.IPv4 {
	h.t.Helper()
	frames, end := make([]link.Frame, 1), time.Now().Add(wait)
	for time.Now().Before(end) {
		n, err := h.q.Read(frames, time.Until(end))
		if err != nil {
			h.t.Fatal(err)
		}
		if n == 0 {
			continue
		}
		e, _ := wire.ParseEthernet(frames[0].Bytes)
		if m, fault := wire.ParseARP(e.Payload()); e.Type() == wire.TypeARP && fault == wire.OK {
			h.answer(m)
			continue
		}
		v, fault := wire.ParseIPv4(append([]byte(nil), e.Payload()...))
		if fault != wire.OK || !v.ChecksumOK() {
			h.t.Fatalf("the stack sent an invalid packet: got fault %v, right checksum %t; want a valid IPv4 packet or ARP message", fault, fault == wire.OK && v.ChecksumOK())
		}
		return v
	}
	return nil
}

func (h *bareHost) answer(m wire.ARP) {
	if m.Operation() == wire.ARPRequest && m.Target() == bareAddr {
		h.q.Write(&link.Parts{Head: wire.AppendARP(wire.AppendEthernet(nil, m.SenderMAC(), h.mac, wire.TypeARP), wire.ARPReply, h.mac, bareAddr, m.SenderMAC(), m.Sender())})
	}
}

// drops returns the stack's non-zero drop counters.
func (h *bareHost) drops() map[Drop]uint64 {
	all := map[Drop]uint64{}
	for d, n := range h.s.Drops() {
		if n > 0 {
			all[d] = n
		}
	}
	return all
}

// datagramTo returns a datagram from port 5000 to a port of the stack.
func datagramTo(port uint16, payload string) []byte {
	from, to := netip.AddrPortFrom(bareAddr, 5000), netip.AddrPortFrom(stackAddr, port)
	return append(wire.AppendUDP(nil, from, to, []byte(payload)), payload...)
}

// icmpOf returns the ICMP message in a packet.
func icmpOf(t *testing.T, v wire.IPv4) wire.ICMP {
	t.Helper()
	if v == nil || v.Protocol() != wire.ICMPv4Protocol {
		t.Fatalf("got the packet % x, want an ICMP message", []byte(v))
	}
	m, fault := wire.ParseICMP(v.Payload())
	if fault != wire.OK || !m.ChecksumOK() {
		t.Fatalf("got an ICMP message with fault %v, right checksum %t; want a valid one", fault, fault == wire.OK && m.ChecksumOK())
	}
	return m
}
