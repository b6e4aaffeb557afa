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

// What is fuzzed is a whole stack in virtual time, with a listener, a connection that it dials, a
// datagram socket, and sockets bound to a protocol and to a type of frames. The input is a list of
// frames for it. Whatever they are, no more may come of it than that they are dropped and counted:
// the stack does not panic, sends nothing that is broken, and not much, and when all is over
// nothing is left, no goroutine, connection, or byte.
func FuzzFrames(f *testing.F) {
	var whole []byte
	for _, r := range conversation(f) { // the whole, and each begin of it
		whole = r.append(whole)
		f.Add(bytes.Clone(whole))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		play(t, records(b))
	})
}

// play has a stack get frames, and says what it sent.
func play(t *testing.T, all []record, change ...func(*Config)) []string {
	return playOn(t, link.PairConfig{}, all, change...)
}

// playOn is that, on a link of some kind.
func playOn(t *testing.T, on link.PairConfig, all []record, change ...func(*Config)) (said []string) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, on, change...)
		for _, r := range all {
			b.get(r)
		}
		b.end()
		said = b.said
	})
	return said
}

// record is a frame with what is to be mended in it, so that a change somewhere gets further than
// the first checksum.
type record struct {
	op    op
	frame []byte
}

// op is what to mend, in bits.
type op byte

const (
	mendEther op = 1 << iota // it is for the stack
	// its IPv4 header has the stack's address, a length and a checksum that are right
	mendIP
	// what it carries has ports that are used, and a checksum that is right
	mendTransport
	// the ports are those of the connection that the stack dials; otherwise of one that it accepts
	ofDialed
	// numbers of TCP, timestamps too, count from those that would be right
	relative
	together // the next frame comes in the same batch
	soon     // time goes by behind it: 40 ms
	late     // likewise 1 s; with soon 10 s
)

// answersMost is how many frames may answer one: all that the application has to send, in the
// smallest segments that a peer may ask for.
const answersMost = 1000

// recordsMost is how many records of an input are played.
const recordsMost = 60

// records reads an input: of each record the op, the length in two bytes, and the frame.
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

// The bench's addresses.
var (
	benchHost = netip.MustParseAddr("10.0.0.1") // the stack
	benchPeer = netip.MustParseAddr("10.0.0.2")
)

// told is a connection as the peer sees it, by what the stack has sent.
type told struct {
	ours, peers uint16   // ports; ours is the stack's
	from, next  wire.Seq // of what the stack has sent: what it began with, what comes next
	expects     wire.Seq // what it expects
	stamp       wire.Timestamp
}

// bench is a stack with applications, and the other end of its link.
type bench struct {
	t       *testing.T
	s       *Stack
	link    link.Link
	stop    chan struct{} // the bench -> the applications: closed when they are to end
	apps    sync.WaitGroup
	flows   [2]told // the one accepted, the one dialed
	answers int     // frames that the stack has sent since the last record
	plain   bool    // checksums are the stack's, and segments
	begun   time.Time
	said    []string // what the stack has sent, in words, without what is drawn by lot
}

func newBench(t *testing.T, on link.PairConfig, change ...func(*Config)) *bench {
	b := &bench{t: t, stop: make(chan struct{}), begun: time.Now(), plain: !on.Checksum}
	ours, peers := link.Pair(on)
	b.link = peers
	c := Config{Link: ours, Addrs: []netip.Prefix{netip.PrefixFrom(benchHost, 24)}, Memory: 1 << 20, Backlog: 4}
	c.TCP = tcp.Config{SYNRetries: 3, UserTimeout: 20 * time.Second, TimeWaitDuration: 5 * time.Second, KeepAliveIdle: 10 * time.Second, KeepAliveInterval: 5 * time.Second, KeepAliveCount: 3}
	for _, f := range change {
		f(&c)
	}
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	s.secret = [16]byte{} // what is drawn by lot is the same each time
	b.s = s
	b.flows = [2]told{{ours: 80, peers: 1000}, {ours: 50_000, peers: 7}}
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

// closeAtEnd closes something when the applications are to end.
func (b *bench) closeAtEnd(c io.Closer) {
	b.apps.Go(func() { <-b.stop; c.Close() })
}

// accepts sends back what comes on each connection.
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
	// from a port that is no chance's
	c := b.s.openTuple(b.s.ifaces[0], tuple{netip.AddrPortFrom(benchHost, dialed.ours), netip.AddrPortFrom(benchPeer, dialed.peers)}, false)
	if err := c.connect(b.t.Context(), 0); err != nil {
		return
	}
	b.closeAtEnd(c)
	b.apps.Go(func() { io.Copy(io.Discard, c) }) //nolint:errcheck // likewise
	c.Write(make([]byte, 50_000))                //nolint:errcheck // likewise
	c.CloseWrite()                               //nolint:errcheck // likewise
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
			c.WriteTo(p[:n], from) //nolint:errcheck // likewise
		}
	}
}

// get has the stack get a frame.
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
		b.t.Errorf("%d frames answer one", b.answers)
	}
	b.step(pause)
}

// step lets time go by, and everybody do what there is to do.
func (b *bench) step(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
	before := len(b.said)
	// who is first of two kinds is nobody's promise
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

// byKind puts what was said in order by its first word: whom it is for, and of which protocol or
// connection.
func byKind(a, b string) int {
	x, _, _ := strings.Cut(a, " ")
	y, _, _ := strings.Cut(b, " ")
	return strings.Compare(x, y)
}

// end ends the applications, and looks for what is left.
func (b *bench) end() {
	close(b.stop)
	// a peer that is silent is given up, if late: a closed window has to be probed some times
	for range 1200 {
		b.step(time.Second)
		if len(b.s.Connections()) == 0 && b.s.unfinished() == 0 {
			break
		}
	}
	b.apps.Wait()
	if left := b.s.Connections(); len(left) > 0 {
		b.t.Errorf("%d connections are left: %+v", len(left), left[0])
	}
	if held := b.s.held(); held != 0 {
		b.t.Errorf("%d bytes of buffers are left", held)
	}
	if n := b.s.unfinished(); n != 0 {
		b.t.Errorf("%d bytes of fragments are left", n)
	}
	b.s.Close()
	b.link.Close()
}

// mended is a record's frame as it is sent.
func (b *bench) mended(r record) []byte {
	f := append([]byte(nil), r.frame...)
	if r.op&mendEther == 0 || len(f) < wire.EthernetHeader {
		return f
	}
	mac := b.s.ifaces[0].caps.MAC
	copy(f, mac[:])
	copy(f[6:], []byte{2, 0, 0, 0, 0, 2})
	p := f[wire.EthernetHeader:]
	if r.op&mendIP == 0 || len(p) < wire.IPv4Header || f[12] != 8 || f[13] != 0 {
		return f
	}
	header := max(int(p[0]&15)*4, wire.IPv4Header)
	if header > len(p) {
		return f
	}
	p[0] = 0x40 | byte(header/4)
	binary.BigEndian.PutUint16(p[2:], uint16(len(p)))
	src, dst := benchPeer.As4(), benchHost.As4()
	copy(p[12:], src[:])
	copy(p[16:], dst[:])
	if r.op&mendTransport != 0 && binary.BigEndian.Uint16(p[6:])&0x3fff == 0 { // a whole packet
		b.mendTransport(r.op, wire.Protocol(p[9]), p[header:])
	}
	seal(p[:header], 10, wire.Sum{})
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
	pseudo := wire.Sum{}.Pseudo(benchPeer, benchHost, protocol, len(p))
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
	}
}

// mendQuote has an error be about a segment that is under way.
func (b *bench) mendQuote(fl *told, p []byte) {
	q := p[wire.ICMPHeader:]
	if t := wire.ICMPType(p[0]); t == wire.EchoReply || t == wire.EchoRequest || len(q) < wire.IPv4Header+8 || q[0] != 0x45 {
		return
	}
	src, dst := benchHost.As4(), benchPeer.As4()
	copy(q[12:], src[:])
	copy(q[16:], dst[:])
	if q[9] == byte(wire.TCPProtocol) {
		binary.BigEndian.PutUint16(q[20:], fl.ours)
		binary.BigEndian.PutUint16(q[22:], fl.peers)
		binary.BigEndian.PutUint32(q[24:], uint32(fl.next.Add(-1)))
	}
}

// mendStamps has a segment's timestamps count from the peer's clock and from what the stack sent
// last.
func (b *bench) mendStamps(fl *told, p []byte) {
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

// see looks at a frame that the stack sent: it has to be right.
func (b *bench) see(f []byte) {
	e, fault := wire.ParseEthernet(f)
	if fault != wire.OK || e.Src() != b.s.ifaces[0].caps.MAC || b.plain && len(e.Payload()) > 1500 && e.Type() == wire.TypeIPv4 {
		b.t.Errorf("a wrong frame was sent: %x", f)
		return
	}
	if e.Type() != wire.TypeIPv4 {
		b.said = append(b.said, fmt.Sprintf("%v %x", e.Dst(), f[12:]))
		return
	}
	p, fault := wire.ParseIPv4(e.Payload())
	if fault != wire.OK || !p.ChecksumOK() || p.Src() != benchHost {
		b.t.Errorf("a wrong packet was sent: %x", f)
		return
	}
	switch {
	case p.Fragment():
	case p.Protocol() == wire.TCPProtocol:
		b.seeSegment(p)
		return
	case p.Protocol() == wire.ICMPv4Protocol:
		if m, fault := wire.ParseICMP(p.Payload()); fault != wire.OK || !m.ChecksumOK() {
			b.t.Errorf("a wrong message was sent: %x", f)
		}
	case p.Protocol() == wire.UDPProtocol:
		if d, fault := wire.ParseUDP(p.Payload()); fault != wire.OK || !d.ChecksumOK(p.Src(), p.Dst()) {
			b.t.Errorf("a wrong datagram was sent: %x", f)
		}
	}
	b.said = append(b.said, fmt.Sprintf("%v/%d %x len %d sum %08x", p.Dst(), p.Protocol(), p.Payload()[:min(8, len(p.Payload()))], len(p.Payload()), crc32.ChecksumIEEE(p.Payload())))
}

// seeSegment follows the stack's side of a connection.
func (b *bench) seeSegment(p wire.IPv4) {
	v, fault := wire.ParseTCP(p.Payload())
	if fault != wire.OK || b.plain && !v.ChecksumOK(p.Src(), p.Dst()) {
		b.t.Errorf("a wrong segment was sent: %x", []byte(p))
		return
	}
	s := tcp.ParseSegment(v)
	for i := range b.flows {
		fl := &b.flows[i]
		if v.DstPort() != fl.peers || p.Dst() != benchPeer || v.SrcPort() != fl.ours {
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
