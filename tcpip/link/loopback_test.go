package link

import (
	"testing"

	"weir/wire"
)

func TestTheLoopbackReturnsFrames(t *testing.T) {
	l := Loopback()
	q, caps := l.Queue(0), l.Caps()
	var sent [][]byte
	for i := range 300 {
		sent = append(sent, frame(i, 16+i*200))
		if !q.Write(inParts(sent[i])) {
			t.Fatalf("frame %d was dropped, want it returned: counters %+v", i, q.Counters())
		}
	}
	same(t, want(t, q, 300), sent)
	p := supers(1000, 0, wire.ACK)
	if !q.Write(p) {
		t.Fatal("a frame with a partial checksum was dropped, want it returned")
	}
	var batch [1]Frame
	if n, err := q.Read(batch[:], waitLimit); n != 1 || err != nil || !batch[0].ChecksumOK {
		t.Errorf("a frame with a partial checksum: got %d frames, error %v, ChecksumOK %t; want 1 that needs no verification", n, err, batch[0].ChecksumOK)
	}
	if q.Write(&Parts{Head: frame(1, caps.MTU+frameOverhead+1)}) {
		t.Error("a frame larger than the MTU was accepted, want it rejected")
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	closed(t, l)
}
