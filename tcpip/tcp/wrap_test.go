package tcp

import (
	"testing"

	"weir/wire"
)

// A stored sequence number does not seem to lie ahead after 2 GiB more. Nagle's algorithm then sees
// no small segment in flight, and the sender reacts to ECN-Echo.
func TestOldSequenceNumbersDoNotWrap(t *testing.T) {
	c := establish(t, Config{ECN: AcceptECN}, wire.ECE|wire.CWR)
	c.write(10) // small
	c.arrive(&Segment{Seq: c.rcvNxt, Ack: c.sndNxt, Flags: wire.ACK, Window: 65535})
	for n := int64(0); n < 1<<31+1<<20; n += 1 << 20 {
		// as if so much were sent, and acknowledged
		c.sndNxt, c.sendBufSeq = c.sndNxt.Add(1<<20), c.sendBufSeq.Add(1<<20)
		c.advanceUna(c.sndNxt, &delivery{})
	}
	if c.write(10); len(c.sent) != 1 {
		t.Errorf("got %d segments for a small write with nothing in flight, want 1 (RFC 9293, section 3.7.4)", len(c.sent))
	}
	before := c.cwnd.size
	c.arrive(&Segment{Seq: c.rcvNxt, Ack: c.sndNxt, Flags: wire.ACK | wire.ECE, Window: 65535})
	if c.cwnd.size >= before {
		t.Errorf("the window is %d bytes after ECN-Echo, want less than the %d before (RFC 3168, section 6.1.2)", c.cwnd.size, before)
	}
}

// playedConn is an established connection whose peer the test plays.
type playedConn struct {
	*Conn
	t    *testing.T
	now  Time
	sent []OutSegment // by the last call
}

// establish returns a connection that accepted a SYN with extra flags, all options, and a window
// scale of 14.
func establish(t *testing.T, cfg Config, flags wire.Flags) *playedConn {
	cfg = cfg.WithDefaults()
	p := &playedConn{t: t, now: Time(1 << 40)}
	syn := Segment{Seq: peerISS, Flags: wire.SYN | flags, Window: 65535}
	syn.Options = wire.TCPOptions{MSS: uint16(cfg.MSS), SACKPermitted: true, HasWindowScale: true, WindowScale: 14}
	p.Conn = Accept(&cfg, ourISS, 0, &syn, p.now)
	p.flush()
	p.arrive(&Segment{Seq: peerISS.Add(1), Ack: ourISS.Add(1), Flags: wire.ACK, Window: 65535})
	return p
}

func (p *playedConn) flush() {
	p.sent = nil
	p.Output(p.now, func(o *OutSegment) { p.sent = append(p.sent, *o) })
}

func (p *playedConn) arrive(s *Segment) {
	p.Arrive(p.now, s)
	p.flush()
}

func (p *playedConn) write(n int) {
	if got := p.Write(p.now, make([]byte, n)); got != n {
		p.t.Fatalf("Write accepted %d bytes, want %d", got, n)
	}
	p.flush()
}
