package tcp

import (
	"bytes"
	"testing"
	"time"

	"weir/wire"
)

// poisoned is a Memory whose buffers are others' at once when they are given back.
type poisoned struct{ out int }

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

// What somebody looks at stays while more comes that needs a larger buffer: twice, so that there is
// a second one to be given back meanwhile.
func TestWhatIsPeekedAtStaysWhileMoreComes(t *testing.T) {
	memory := &poisoned{}
	cfg := Config{Memory: memory}.WithDefaults()
	now := Time(time.Hour)
	syn := Segment{Seq: peerISS, Flags: wire.SYN, Window: 65535}
	c := Accept(&cfg, ourISS, 0, &syn, now)
	c.Output(now, func(*OutSegment) {})
	at := 1
	come := func(n int) {
		c.Arrive(now, &Segment{Seq: peerISS.Add(at), Ack: ourISS.Add(1), Flags: wire.ACK, Window: 65535, Payload: bytes.Repeat([]byte("a"), n)})
		at += n
	}
	come(3000)
	looked := c.Peek(4096)
	for range 30 {
		come(1000)
	}
	if want := bytes.Repeat([]byte("a"), 3000); !bytes.Equal(looked, want) {
		t.Errorf("%d bytes are not what they were: %q...", len(looked), looked[:min(10, len(looked))])
	}
	c.Discard(now, len(looked))
	if memory.out != 1 {
		t.Errorf("%d buffers are held", memory.out)
	}
	rest := make([]byte, 40_000)
	if n := c.Read(now, rest); n != 30_000 || bytes.Count(rest[:n], []byte("a")) != n || memory.out != 0 {
		t.Errorf("%d bytes are left, and %d buffers", n, memory.out)
	}
}
