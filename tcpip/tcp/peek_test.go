package tcp

import (
	"bytes"
	"testing"
	"time"

	"weir/wire"
)

// poisoned is a Memory that overwrites freed buffers.
type poisoned struct{ out int } // buffers that are not freed

func (p *poisoned) Get(size int) []byte {
	p.out++
	return make([]byte, size)
}

func (p *poisoned) Put(b []byte) {
	p.out--
	for i := range b {
		b[i] = 0xff
	}
}

func (p *poisoned) Share(bool) int { return Unlimited }

// Peeked bytes stay valid while arriving data needs a larger buffer, twice: the second time, the
// buffer in between is freed.
func TestPeekedBytesStayValidWhileMoreArrive(t *testing.T) {
	memory := &poisoned{}
	cfg := Config{Memory: memory}.WithDefaults()
	now := Time(time.Hour)
	syn := Segment{Seq: peerISS, Flags: wire.SYN, Window: 65535}
	c := Accept(&cfg, ourISS, 0, &syn, now)
	c.Output(now, func(*OutSegment) {})
	at := 1
	arrive := func(n int) {
		c.Arrive(now, &Segment{Seq: peerISS.Add(at), Ack: ourISS.Add(1), Flags: wire.ACK, Window: 65535, Payload: bytes.Repeat([]byte("a"), n)})
		at += n
	}
	arrive(3000)
	peeked := c.Peek(4096)
	for range 30 {
		arrive(1000)
	}
	if want := bytes.Repeat([]byte("a"), 3000); !bytes.Equal(peeked, want) {
		t.Errorf("the %d peeked bytes are now %q..., want the 3000 bytes unchanged", len(peeked), peeked[:min(10, len(peeked))])
	}
	c.Discard(now, len(peeked))
	if memory.out != 1 {
		t.Errorf("%d buffers are held after Discard, want 1", memory.out)
	}
	rest := make([]byte, 40_000)
	if n := c.Read(now, rest); n != 30_000 || bytes.Count(rest[:n], []byte("a")) != n || memory.out != 0 {
		t.Errorf("%d bytes were left, and %d buffers are held; want 30000 and 0", n, memory.out)
	}
}
