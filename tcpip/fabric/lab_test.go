package fabric

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"weir/tcpip/link"
	"weir/wire"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("runtime.handleEvent"))
}

// lab is a network in virtual time whose hosts write packets, and whose events are lines of text.
type lab struct {
	*Network
	t      *testing.T
	links  map[*Node]link.Link
	events []string // without the sending
	sent   map[uint64]bool
	last   time.Time // of the last event
	silent bool      // the packets may be invalid
}

// inLab runs a test in a lab.
func inLab(t *testing.T, c Config, test func(*lab)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := &lab{t: t, links: map[*Node]link.Link{}, sent: map[uint64]bool{}}
		c.Observe = l.observe
		l.Network = New(c)
		test(l)
		l.Close()
		for _, nic := range l.links {
			nic.Close()
		}
	})
}

// host adds a host and attaches it.
func (l *lab) host(name string, addrs ...string) *Node {
	l.t.Helper()
	var c HostConfig
	for _, a := range addrs {
		c.Addrs = append(c.Addrs, netip.MustParsePrefix(a))
	}
	return l.attach(must(l.t)(l.HostWith(name, c)))
}

func (l *lab) attach(n *Node) *Node {
	l.links[n] = n.Attach()
	return n
}

// must returns a function that ends the test at an error.
func must(t *testing.T) func(*Node, error) *Node {
	return func(n *Node, err error) *Node {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
}

// join connects nodes in a row by the same path.
func (l *lab) join(p Path, nodes ...*Node) (links []*Link) {
	l.t.Helper()
	for n := 1; n < len(nodes); n++ {
		one, err := l.Connect(nodes[n-1], nodes[n], p, p)
		if err != nil {
			l.t.Fatal(err)
		}
		links = append(links, one)
	}
	return links
}

// write writes packets by the interface of a host.
func (l *lab) write(n *Node, packets ...[]byte) {
	for _, b := range packets {
		l.links[n].Queue(0).Write(&link.Parts{Head: b})
	}
}

// pass lets time pass, and returns the events since the last call.
func (l *lab) pass(d time.Duration) []string {
	time.Sleep(d)
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	events := l.events
	l.events = nil
	return events
}

// want requires events, after ten seconds.
func (l *lab) want(when string, events ...string) {
	l.t.Helper()
	if got := l.pass(10 * time.Second); !slices.Equal(got, events) {
		l.t.Errorf("%s: got\n    %s\nwant\n    %s", when, strings.Join(got, "\n    "), strings.Join(events, "\n    "))
	}
}

// observe notes an event. Its time is not before the last one, and its packet was sent.
func (l *lab) observe(e Event) {
	if e.At.Before(l.last) {
		l.t.Errorf("got an event %v before the last one, want the order of time", l.last.Sub(e.At))
	}
	l.last = e.At
	text := describe(e.Packet)
	switch e.Kind {
	case EventSent:
		if l.sent[e.Number] {
			l.t.Errorf("got two sendings of packet %d, want one", e.Number)
		}
		l.sent[e.Number] = true
		return
	case EventDelivered:
		text = e.Node.Name() + " gets " + text
	case EventDropped:
		text = fmt.Sprintf("%s drops %s: %s", e.Node.Name(), text, e.Why)
	}
	if e.Number == 0 {
		l.t.Errorf("%s: got no number of the packet, want one", text)
	}
	if !l.silent && strings.Contains(text, "checksum") {
		l.t.Errorf("got %s, want valid checksums", text)
	}
	l.events = append(l.events, text)
}

// describe describes a packet in a line. It says if a checksum is wrong.
func describe(b []byte) string {
	if len(b) > 0 && b[0]>>4 == 6 {
		p, fault := wire.ParseIPv6(b)
		if fault != wire.OK {
			return "a malformed packet"
		}
		return describeTransport(p.NextHeader(), p.Src(), p.Dst(), p.Payload(), fmt.Sprintf(" ttl %d", p.HopLimit()), true)
	}
	p, fault := wire.ParseIPv4(b)
	if fault != wire.OK {
		return "a malformed packet"
	}
	suffix := fmt.Sprintf(" ttl %d", p.TTL())
	if !p.ChecksumOK() {
		suffix += " wrong header checksum"
	}
	if p.IsFragment() {
		more := ""
		if p.MoreFragments() {
			more = "+"
		}
		return fmt.Sprintf("fragment %d%s len %d%s", p.FragmentOffset(), more, len(p.Payload()), suffix)
	}
	return describeTransport(p.Protocol(), p.Src(), p.Dst(), p.Payload(), suffix, true)
}

func describeTransport(protocol wire.Protocol, src, dst netip.Addr, b []byte, suffix string, check bool) string {
	ports := func() string {
		return fmt.Sprintf("%v:%d > %v:%d", src, binary.BigEndian.Uint16(b), dst, binary.BigEndian.Uint16(b[2:]))
	}
	switch {
	case protocol == wire.UDPProtocol && len(b) >= wire.UDPHeader:
		if check && !wire.UDP(b).ChecksumOK(src, dst) {
			suffix += " wrong checksum"
		}
		return fmt.Sprintf("udp %s len %d%s", ports(), binary.BigEndian.Uint16(b[4:])-wire.UDPHeader, suffix)
	case protocol == wire.TCPProtocol && len(b) >= 8:
		if check && (len(b) < wire.TCPHeader || !wire.TCP(b).ChecksumOK(src, dst)) {
			suffix += " wrong checksum"
		}
		return fmt.Sprintf("tcp %s%s", ports(), suffix)
	case (protocol == wire.ICMPv4Protocol || protocol == wire.ICMPv6Protocol) && len(b) >= wire.ICMPHeader:
		ok := src.Is4() && wire.ICMP(b).ChecksumOK() || src.Is6() && wire.ICMPv6(b).ChecksumOK(src, dst)
		if check && !ok {
			suffix += " wrong checksum"
		}
		return fmt.Sprintf("icmp %v > %v %s%s", src, dst, describeICMP(src.Is6(), b), suffix)
	}
	return fmt.Sprintf("protocol %d %v > %v%s", protocol, src, dst, suffix)
}

func describeICMP(v6 bool, b []byte) string {
	rest := binary.BigEndian.Uint32(b[4:])
	isEcho := b[0] == 0 || b[0] == 8
	if v6 {
		isEcho = b[0] >= 128
	}
	if isEcho {
		return fmt.Sprintf("echo %d id %d", b[0], rest>>16)
	}
	text := fmt.Sprintf("error %d.%d", b[0], b[1])
	if rest > 0 {
		text += fmt.Sprintf(" mtu %d", rest)
	}
	return text + " (" + describeQuoted(b[wire.ICMPHeader:]) + ")"
}

// describeQuoted describes the packet in an error, which may be cut off. Its header's checksum is
// that of its header.
func describeQuoted(b []byte) string {
	if len(b) < wire.IPv4Header+8 || b[0]>>4 == 6 && len(b) < wire.IPv6Header+8 || b[0]>>4 != 6 && (headerLen(b) < wire.IPv4Header || headerLen(b)+8 > len(b)) {
		return "cut off"
	}
	if b[0]>>4 == 6 {
		return describeTransport(wire.Protocol(b[6]), netip.AddrFrom16([16]byte(b[8:24])), netip.AddrFrom16([16]byte(b[24:40])), b[40:], "", false)
	}
	suffix := ""
	if !wire.IPv4(b).ChecksumOK() {
		suffix = " wrong header checksum"
	}
	return describeTransport(wire.Protocol(b[9]), netip.AddrFrom4([4]byte(b[12:16])), netip.AddrFrom4([4]byte(b[16:20])), b[wire.IPv4(b).HeaderLen():], suffix, false)
}

// datagram is a UDP packet to write.
type datagram struct {
	from, to string // addresses with ports
	length   int
	ttl      uint8 // default 64
	df       bool
}

func (d datagram) bytes() []byte {
	src, dst := netip.MustParseAddrPort(d.from), netip.MustParseAddrPort(d.to)
	if d.ttl == 0 {
		d.ttl = 64
	}
	payload := make([]byte, d.length)
	for n := range payload {
		payload[n] = byte(n * 7)
	}
	var b []byte
	if src.Addr().Is4() {
		b = wire.AppendIPv4(nil, &wire.IPv4Fields{TTL: d.ttl, DontFragment: d.df, Protocol: wire.UDPProtocol, Src: src.Addr(), Dst: dst.Addr(), Payload: wire.UDPHeader + d.length})
	} else {
		b = wire.AppendIPv6(nil, &wire.IPv6Fields{HopLimit: d.ttl, NextHeader: wire.UDPProtocol, Src: src.Addr(), Dst: dst.Addr(), Payload: wire.UDPHeader + d.length})
	}
	return append(wire.AppendUDP(b, src, dst, payload), payload...)
}

// udp is a datagram of ten bytes.
func udp(from, to string) []byte { return datagram{from: from, to: to, length: 10}.bytes() }

// tcp is a segment without data.
func tcp(from, to string) []byte {
	src, dst := netip.MustParseAddrPort(from), netip.MustParseAddrPort(to)
	b := wire.AppendIPv4(nil, &wire.IPv4Fields{TTL: 64, Protocol: wire.TCPProtocol, Src: src.Addr(), Dst: dst.Addr(), Payload: wire.TCPHeader})
	return wire.AppendTCP(b, &wire.TCPFields{Src: src, Dst: dst, Flags: wire.SYN})
}

// echo is an echo request, of either version.
func echo(from, to string, id uint16) []byte {
	src, dst := netip.MustParseAddr(from), netip.MustParseAddr(to)
	if src.Is6() {
		b := wire.AppendIPv6(nil, &wire.IPv6Fields{HopLimit: 64, NextHeader: wire.ICMPv6Protocol, Src: src, Dst: dst, Payload: wire.ICMPHeader + 4})
		return wire.AppendICMPv6(b, src, dst, wire.EchoRequest6, 0, wire.EchoHeader(id, 1), []byte("ping"))
	}
	b := wire.AppendIPv4(nil, &wire.IPv4Fields{TTL: 64, Protocol: wire.ICMPv4Protocol, Src: src, Dst: dst, Payload: wire.ICMPHeader + 4})
	return wire.AppendICMP(b, wire.EchoRequest, 0, wire.EchoHeader(id, 1), []byte("ping"))
}
