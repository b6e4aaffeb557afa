package tcp

import (
	"testing"

	"weir/wire"
)

// A place in the stream that was noted once does not seem to lie ahead when 2 GiB have gone by
// since: Nagle's algorithm sees nothing small under way then, and a mark of the network's is
// heeded.
func TestPlacesOfLongAgoDoNotSeemToLieAhead(t *testing.T) {
	c := synced(t, Config{ECN: AcceptECN}, wire.ECE|wire.CWR)
	c.write(10) // small
	c.arrive(&Segment{Seq: c.rcvNxt, Ack: c.sndNxt, Flags: wire.ACK, Window: 65535})
	for sent := 0; sent < 1<<31+1<<20; sent += 1 << 20 {
		c.sndNxt, c.sendBufSeq = c.sndNxt.Add(1<<20), c.sendBufSeq.Add(1<<20) // as if so much were sent
		c.advanceUna(c.sndNxt, &delivery{})                                   // and acknowledged
	}
	if c.write(10); len(c.said) != 1 {
		t.Errorf("%d segments go of something small when nothing is under way, want 1 (RFC 9293, section 3.7.4)", len(c.said))
	}
	before := c.cwnd.size
	c.arrive(&Segment{Seq: c.rcvNxt, Ack: c.sndNxt, Flags: wire.ACK | wire.ECE, Window: 65535})
	if c.cwnd.size >= before {
		t.Errorf("the window is %d bytes after a mark, and was %d (RFC 3168, section 6.1.2)", c.cwnd.size, before)
	}
}

// played is an open connection whose peer the test plays.
type played struct {
	*Conn
	t    *testing.T
	now  Time
	said []OutSegment // in answer to the last call
}

// synced is a connection that answered a SYN with more flags, all options, and a window scale of 14.
func synced(t *testing.T, cfg Config, flags wire.Flags) *played {
	cfg = cfg.WithDefaults()
	p := &played{t: t, now: Time(1 << 40)}
	syn := Segment{Seq: peerISS, Flags: wire.SYN | flags, Window: 65535}
	syn.Options = wire.TCPOptions{MSS: uint16(cfg.MSS), SACKPermitted: true, HasWindowScale: true, WindowScale: 14}
	p.Conn = Accept(&cfg, ourISS, 0, &syn, p.now)
	p.flush()
	p.arrive(&Segment{Seq: peerISS.Add(1), Ack: ourISS.Add(1), Flags: wire.ACK, Window: 65535})
	return p
}

func (p *played) flush() {
	p.said = nil
	p.Output(p.now, func(o *OutSegment) { p.said = append(p.said, *o) })
}

func (p *played) arrive(s *Segment) {
	p.Arrive(p.now, s)
	p.flush()
}

func (p *played) write(n int) {
	if got := p.Write(p.now, make([]byte, n)); got != n {
		p.t.Fatalf("there is room for %d bytes of %d", got, n)
	}
	p.flush()
}
