package tcpip

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"weir/tcpip/link"
	"weir/tcpip/tcp"
	"weir/wire"
)

// FuzzFrames fuzzes a whole stack in virtual time: a listener, a dialed connection, a UDP socket
// and raw sockets for a protocol and an EtherType. The input is a list of frames, whose first
// packet chooses the version of IP of the stack. Every frame must be processed, or dropped and
// counted. The stack must not panic, and must send only valid frames and not too many, and at the
// end no goroutine, connection or byte may be left.
func FuzzFrames(f *testing.F) {
	for _, of := range benchFamilies {
		var whole []byte
		for _, r := range conversation(f, of) { // the whole conversation, and each prefix of it
			whole = r.append(whole)
			f.Add(bytes.Clone(whole))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		play(t, records(b))
	})
}

// play sends frames to a stack and returns what it sent.
func play(t *testing.T, all []record, change ...func(*Config)) []string {
	return playOn(t, link.PairConfig{}, all, change...)
}

// playOn is play on a given kind of link.
func playOn(t *testing.T, on link.PairConfig, all []record, change ...func(*Config)) (said []string) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, on, benchFamilyOf(all), change...)
		for _, r := range all {
			b.get(r)
		}
		b.end()
		said = b.said
	})
	return said
}

// record is a frame and the repairs to make on it, so that a mutation passes the first checksums.
type record struct {
	op    op
	frame []byte
}

// op is a set of repairs.
type op byte

const (
	mendEther op = 1 << iota // set the stack's destination MAC
	// set the version, addresses, length and checksum of the IP header
	mendIP
	// set ports in use and the transport checksum
	mendTransport
	// set the ports of the dialed connection; otherwise of an accepted one
	ofDialed
	// sequence numbers and timestamps are relative to the expected ones
	relative
	together // the next frame comes in the same batch
	soon     // wait 40 ms after it
	late     // wait 1 s after it; with soon 10 s
)

// answersMost limits the frames that answer one: all data of the application, in the smallest
// segments that a peer may ask for.
const answersMost = 1000

// recordsMost limits the records of an input.
const recordsMost = 60

// records parses an input: for each record the op, the length in two bytes, and the frame.
func records(b []byte) (all []record) {
	for len(b) >= 3 && len(all) < recordsMost {
		n := min(int(binary.LittleEndian.Uint16(b[1:])), len(b)-3, 2000)
		all = append(all, record{op(b[0]), b[3 : 3+n : 3+n]})
		b = b[3+n:]
	}
	return all
}

// append writes a record.
func (r record) append(b []byte) []byte {
	return append(binary.LittleEndian.AppendUint16(append(b, byte(r.op)), uint16(len(r.frame))), r.frame...)
}

// peerView is a connection as the peer sees it, from what the stack has sent.
type peerView struct {
	ours, peers uint16   // ports; ours is the stack's
	from, next  wire.Seq // initial and next sequence number of the stack
	expects     wire.Seq // next sequence number that the stack expects
	stamp       wire.Timestamp
}

// bench is a stack with applications, and the other end of its link.
type bench struct {
	t       *testing.T
	of      *benchFamily
	s       *Stack
	link    link.Link
	stop    chan struct{} // the bench -> the applications: closed when they are to end
	apps    sync.WaitGroup
	flows   [2]peerView // the one accepted, the one dialed
	answers int         // frames that the stack has sent since the last record
	plain   bool        // the stack computes checksums and segments itself
	begun   time.Time
	said    []string // what the stack has sent, in words, without random numbers
}

func newBench(t *testing.T, on link.PairConfig, of *benchFamily, change ...func(*Config)) *bench {
	b := &bench{t: t, of: of, stop: make(chan struct{}), begun: time.Now(), plain: !on.Checksum}
	ours, peers := link.Pair(on)
	b.link = peers
	c := Config{Link: ours, Addrs: []netip.Prefix{netip.PrefixFrom(of.host, of.bits)}, Memory: 1 << 20, Backlog: 4}
	c.TCP = tcp.Config{SYNRetries: 3, UserTimeout: 20 * time.Second, TimeWaitDuration: 5 * time.Second, KeepAliveIdle: 10 * time.Second, KeepAliveInterval: 5 * time.Second, KeepAliveCount: 3}
	for _, f := range change {
		f(&c)
	}
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	s.secret = [16]byte{} // makes random numbers repeatable
	b.s = s
	b.flows = [2]peerView{{ours: 80, peers: 1000}, {ours: 50_000, peers: 7}}
	l, err1 := s.Listen("tcp", ":80")
	u, err2 := s.ListenPacket("udp", ":53")
	raw, err3 := s.ListenIP(89)
	eth, err4 := s.ListenEther(0x88b5)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		t.Fatal(err)
	}
	b.apps.Go(func() { b.accepts(l) })
	b.apps.Go(b.dials)
	for _, c := range []net.PacketConn{u, raw, eth} {
		b.apps.Go(func() { bounce(c) })
		b.closeAtEnd(c)
	}
	b.closeAtEnd(l)
	b.step(0)
	return b
}

// closeAtEnd closes something when the applications must end.
func (b *bench) closeAtEnd(c io.Closer) {
	b.apps.Go(func() { <-b.stop; c.Close() })
}

// accepts echoes on each connection.
func (b *bench) accepts(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		b.closeAtEnd(c)
		b.apps.Go(func() {
			io.Copy(c, c) //nolint:errcheck // frames are what is looked at
			c.Close()
		})
	}
}

// dials connects, sends more than a few segments, and reads.
func (b *bench) dials() {
	dialed := &b.flows[1]
	// from a fixed port
	c := b.s.openTuple(b.s.ifaces[0], tuple{netip.AddrPortFrom(b.of.host, dialed.ours), netip.AddrPortFrom(b.of.peer, dialed.peers)}, false, false, b.s.ifaces[0].tcpConfig(b.of.peer))
	if err := c.connect(b.t.Context(), 0); err != nil {
		return
	}
	b.closeAtEnd(c)
	b.apps.Go(func() { io.Copy(io.Discard, c) }) //nolint:errcheck // the test checks its effect
	c.Write(make([]byte, 50_000))                //nolint:errcheck // the test checks its effect
	c.CloseWrite()                               //nolint:errcheck // the test checks its effect
}

// bounce sends each packet back.
func bounce(c net.PacketConn) {
	p := make([]byte, 3000)
	for {
		n, from, err := c.ReadFrom(p)
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err == nil:
			c.WriteTo(p[:n], from) //nolint:errcheck // the test checks its effect
		}
	}
}

// get delivers a frame to the stack.
func (b *bench) get(r record) {
	b.answers = 0
	f := b.mended(r)
	if len(f) >= wire.EthernetHeader {
		b.link.Queue(0).Write(&link.Parts{Head: f})
	}
	if r.op&together != 0 {
		return
	}
	pause := [4]time.Duration{0, 40 * time.Millisecond, time.Second, 10 * time.Second}[r.op/soon]
	b.step(0)
	if b.answers > answersMost {
		b.t.Errorf("one frame was answered by %d frames, want at most %d", b.answers, answersMost)
	}
	b.step(pause)
}

// step advances the time, and lets all goroutines run until they block.
func (b *bench) step(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
	before := len(b.said)
	// the order of two kinds is not deterministic
	defer func() { slices.SortStableFunc(b.said[before:], byKind) }()
	var batch [32]link.Frame
	for {
		n, err := b.link.Queue(0).Read(batch[:], 0)
		if n == 0 || err != nil {
			return
		}
		for _, f := range batch[:n] {
			b.answers++
			b.see(f.Bytes)
		}
	}
}

// byKind sorts what was sent by its first word: its destination, and its protocol or connection.
func byKind(a, b string) int {
	x, _, _ := strings.Cut(a, " ")
	y, _, _ := strings.Cut(b, " ")
	return strings.Compare(x, y)
}

// end ends the applications, and checks that nothing is left.
func (b *bench) end() {
	close(b.stop)
	// a silent peer is given up late: a closed window is probed several times first
	for range 1200 {
		b.step(time.Second)
		if len(b.s.Connections()) == 0 && b.s.unfinished() == 0 {
			break
		}
	}
	b.apps.Wait()
	if left := b.s.Connections(); len(left) > 0 {
		b.t.Errorf("%d connections are left, want none: %+v", len(left), left[0])
	}
	if held := b.s.held(); held != 0 {
		b.t.Errorf("%d bytes of buffers are in use, want 0", held)
	}
	if n := b.s.unfinished(); n != 0 {
		b.t.Errorf("%d bytes of fragments are in use, want 0", n)
	}
	b.s.Close()
	b.link.Close()
}

// mended returns a record's frame after its repairs.
func (b *bench) mended(r record) []byte {
	f := append([]byte(nil), r.frame...)
	if r.op&mendEther == 0 || len(f) < wire.EthernetHeader {
		return f
	}
	mac := b.s.ifaces[0].caps.MAC
	copy(f, mac[:])
	copy(f[6:], []byte{2, 0, 0, 0, 0, 2})
	if r.op&mendIP != 0 && wire.Ethernet(f).Type() == b.of.etherType {
		b.of.mend(b, r.op, f[wire.EthernetHeader:])
	}
	return f
}

// seal writes a checksum to its place.
func seal(b []byte, at int, sum wire.Sum) {
	if at+2 <= len(b) {
		b[at], b[at+1] = 0, 0
		binary.BigEndian.PutUint16(b[at:], sum.Add(b).Checksum())
	}
}

func (b *bench) mendTransport(o op, protocol wire.Protocol, p []byte) {
	pseudo := wire.Sum{}.Pseudo(b.of.peer, b.of.host, protocol, len(p))
	fl := &b.flows[o&ofDialed/ofDialed]
	switch {
	case protocol == wire.TCPProtocol && len(p) >= wire.TCPHeader:
		binary.BigEndian.PutUint16(p, fl.peers)
		binary.BigEndian.PutUint16(p[2:], fl.ours)
		if o&relative != 0 {
			add32(p[4:], uint32(fl.expects))
			add32(p[8:], uint32(fl.next))
			b.mendStamps(fl, p)
		}
		seal(p, 16, pseudo)
	case protocol == wire.UDPProtocol && len(p) >= wire.UDPHeader:
		binary.BigEndian.PutUint16(p[2:], 53)
		binary.BigEndian.PutUint16(p[4:], uint16(len(p)))
		seal(p, 6, pseudo)
	case protocol == wire.ICMPv4Protocol && len(p) >= wire.ICMPHeader:
		b.mendQuote(fl, p)
		seal(p, 2, wire.Sum{})
	case protocol == wire.ICMPv6Protocol && len(p) >= wire.ICMPHeader:
		b.mendQuote6(fl, p)
		seal(p, 2, pseudo)
	}
}

// mendQuote makes an ICMP error quote a segment in flight.
func (b *bench) mendQuote(fl *peerView, p []byte) {
	q := p[wire.ICMPHeader:]
	if t := wire.ICMPType(p[0]); t == wire.EchoReply || t == wire.EchoRequest || len(q) < wire.IPv4Header+8 || q[0] != 0x45 {
		return
	}
	copy(q[12:], b.of.host.AsSlice())
	copy(q[16:], b.of.peer.AsSlice())
	if q[9] == byte(wire.TCPProtocol) {
		quoteInFlight(fl, q[wire.IPv4Header:])
	}
}

// quoteInFlight makes the start of a TCP header that of a segment in flight.
func quoteInFlight(fl *peerView, q []byte) {
	binary.BigEndian.PutUint16(q, fl.ours)
	binary.BigEndian.PutUint16(q[2:], fl.peers)
	binary.BigEndian.PutUint32(q[4:], uint32(fl.next.Add(-1)))
}

// mendStamps makes a segment's timestamps relative to the peer's clock and the stack's last one.
func (b *bench) mendStamps(fl *peerView, p []byte) {
	header := min(int(p[12]>>4)*4, len(p))
	for o := p[min(wire.TCPHeader, header):header]; len(o) > 1 && o[0] != 0; {
		switch {
		case o[0] == 1:
			o = o[1:]
			continue
		case o[0] == 8 && o[1] == 10 && len(o) >= 10:
			add32(o[2:], uint32(time.Since(b.begun)/time.Millisecond)+1)
			add32(o[6:], uint32(fl.stamp))
		case o[1] < 2 || int(o[1]) > len(o):
			return
		}
		o = o[o[1]:]
	}
}

func add32(b []byte, n uint32) { binary.BigEndian.PutUint32(b, binary.BigEndian.Uint32(b)+n) }

// see checks a frame that the stack sent.
func (b *bench) see(f []byte) {
	e, fault := wire.ParseEthernet(f)
	isIP := e.Type() == wire.TypeIPv4 || e.Type() == wire.TypeIPv6
	if fault != wire.OK || e.Src() != b.s.ifaces[0].caps.MAC || b.plain && len(e.Payload()) > 1500 && isIP {
		b.t.Errorf("the stack sent the invalid frame %x, want valid headers, its own MAC address and at most 1500 bytes of IP", f)
		return
	}
	if e.Type() != b.of.etherType {
		b.said = append(b.said, fmt.Sprintf("%v %x", e.Dst(), f[12:]))
		return
	}
	p, ok := b.of.parse(e.Payload())
	if !ok || !b.isOwn(p.src) {
		b.t.Errorf("the stack sent the invalid packet %x, want a valid IP header and its own address", f)
		return
	}
	switch {
	case p.fragment:
	case p.protocol == wire.TCPProtocol:
		b.seeSegment(&p)
		return
	case p.protocol == wire.ICMPv4Protocol || p.protocol == wire.ICMPv6Protocol:
		if len(p.payload) < wire.ICMPHeader || !p.icmpOK() {
			b.t.Errorf("the stack sent the invalid ICMP message %x, want valid headers and checksum", f)
		}
	case p.protocol == wire.UDPProtocol:
		if d, fault := wire.ParseUDP(p.payload); fault != wire.OK || !d.ChecksumOK(p.src, p.dst) {
			b.t.Errorf("the stack sent the invalid datagram %x, want valid headers and checksum", f)
		}
	}
	if p.dst.Is6() && p.dst.IsMulticast() { // neighbour discovery and MLD, at random times
		return
	}
	b.said = append(b.said, fmt.Sprintf("%v/%d %x len %d sum %08x", p.dst, p.protocol, p.payload[:min(8, len(p.payload))], len(p.payload), crc32.ChecksumIEEE(p.payload)))
}

// seeSegment tracks the stack's side of a connection.
func (b *bench) seeSegment(p *sentPacket) {
	v, fault := wire.ParseTCP(p.payload)
	if fault != wire.OK || b.plain && !v.ChecksumOK(p.src, p.dst) {
		b.t.Errorf("the stack sent the invalid segment %x, want valid headers and checksum", p.payload)
		return
	}
	s := tcp.ParseSegment(v)
	for i := range b.flows {
		fl := &b.flows[i]
		if v.DstPort() != fl.peers || p.dst != b.of.peer || v.SrcPort() != fl.ours {
			continue
		}
		if s.Flags&wire.SYN != 0 {
			fl.from, fl.next = s.Seq, s.End()
		}
		if fl.next.Less(s.End()) {
			fl.next = s.End()
		}
		if s.Flags&wire.ACK != 0 && s.Flags&wire.RST == 0 {
			fl.expects = s.Ack
		}
		if s.Options.HasTimestamps {
			fl.stamp = s.Options.TSVal
		}
		b.said = append(b.said, fmt.Sprintf("%d> %v %d %d win %d len %d %v", i, s.Flags, s.Seq.Sub(fl.from), s.Ack, s.Window, len(s.Payload), s.Options.SACKBlocks()))
		return
	}
	b.said = append(b.said, fmt.Sprintf("%d> %v %v len %d", v.SrcPort(), v.DstPort(), s.Flags, len(s.Payload)))
}
