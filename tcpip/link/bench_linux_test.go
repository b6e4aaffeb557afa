package link

import "testing"

// BenchmarkTapWrite writes frames that the kernel drops: the cost of the call, the copy and the
// device, without a peer.
func BenchmarkTapWrite(b *testing.B) {
	for size, p := range benchFrames {
		b.Run(size, func(b *testing.B) {
			q, p := tapped(b, TapConfig{}).link.Queue(0), p()
			b.SetBytes(int64(p.Len()))
			b.ReportAllocs()
			for b.Loop() {
				if !q.Write(p) {
					b.Fatal("a frame was dropped")
				}
			}
		})
	}
}

// BenchmarkTapRead reads frames from a device, a batch at a time, without the cost of their sender.
func BenchmarkTapRead(b *testing.B) {
	for size, p := range benchFrames {
		b.Run(size, func(b *testing.B) {
			from, to := joined(b, TapConfig{}, TapConfig{})
			p, batch := p(), make([]Frame, benchBatch)
			b.SetBytes(int64(p.Len()))
			b.ReportAllocs()
			b.ResetTimer()
			for left := b.N; left > 0; {
				b.StopTimer()
				n := min(left, benchBatch)
				for range n {
					if !from.Queue(0).Write(p) {
						b.Fatal("a frame was dropped")
					}
				}
				b.StartTimer()
				for got := 0; got < n; {
					k, err := to.Queue(0).Read(batch, waitLimit)
					if k == 0 || err != nil {
						b.Fatal(k, err)
					}
					got += k
				}
				left -= n
			}
		})
	}
}

// BenchmarkTapRoundTrip writes a frame to one device and reads it from another, joined by a bridge.
func BenchmarkTapRoundTrip(b *testing.B) {
	for size, p := range benchFrames {
		b.Run(size, func(b *testing.B) {
			from, to := joined(b, TapConfig{}, TapConfig{})
			p, batch := p(), make([]Frame, benchBatch)
			b.SetBytes(int64(p.Len()))
			for b.Loop() {
				if !from.Queue(0).Write(p) {
					b.Fatal("a frame was dropped")
				}
				if n, err := to.Queue(0).Read(batch, waitLimit); n == 0 || err != nil {
					b.Fatal(n, err)
				}
			}
		})
	}
}
