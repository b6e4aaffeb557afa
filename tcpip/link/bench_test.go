package link

import (
	"io"
	"testing"

	"weir/wire"
)

// benchFrames are the frames measured: a full packet and a superframe.
var benchFrames = map[string]func() *Parts{
	"1500": func() *Parts { return inParts(frame(1, 1500+wire.EthernetHeader)) },
	"64KB": func() *Parts { return supers(65000, 1448, wire.ACK) },
}

// benchBatch is how many frames are written and then read at once.
const benchBatch = 32

// BenchmarkMemory writes a batch and reads it in one goroutine: the cost of a frame without a
// device and without a wake-up.
func BenchmarkMemory(b *testing.B) {
	for name, in := range map[string]func(testing.TB, Link) Link{"pair": bare, "capture": captured, "impair": impairedBy(ImpairConfig{Out: Impairment{QueueBytes: 1}})} {
		for size, p := range benchFrames {
			b.Run(name+"/"+size, func(b *testing.B) {
				near, far := Pair(PairConfig{Superframe: 65535, Checksum: true})
				near = in(b, near)
				defer far.Close()
				defer near.Close()
				benchPair(b, near.Queue(0), far.Queue(0), p())
			})
		}
	}
}

func benchPair(b *testing.B, from, to Queue, p *Parts) {
	batch := make([]Frame, benchBatch)
	b.SetBytes(int64(p.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if !from.Write(p) {
			b.Fatal("a frame was dropped")
		}
		for n := 1; n > 0; { // a superframe may have been segmented
			n, _ = to.Read(batch, 0)
		}
	}
}

// BenchmarkRecord measures the cost of recording a frame of 1,500 bytes.
func BenchmarkRecord(b *testing.B) {
	near, far := Pair(PairConfig{})
	defer far.Close()
	c, err := NewCapture(near, io.Discard, CaptureConfig{})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	p, buffer := benchFrames["1500"](), []byte(nil)
	for i := 0; b.Loop(); i++ {
		if i%1000 == 0 { // write before the buffer is half full, when Capture's goroutine would
			buffer = c.file.write(buffer)
		}
		c.record(outbound, p.Len(), p.Head, p.Body[0], p.Body[1])
	}
}
