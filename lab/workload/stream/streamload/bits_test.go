package streamload

import (
	"math"
	"testing"
	"weir/lab/load"

	"pgregory.net/rapid"
)

// TestBitsAllowTheBandwidthRegardlessOfLateness: a connection is allowed bandwidth x time, however
// late its turns are.
func TestBitsAllowTheBandwidthRegardlessOfLateness(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 70).Draw(t, "n")
		bandwidth := rapid.Float64Range(8, 1e9).Draw(t, "bits a second")
		pattern := rapid.SampledFrom([]string{load.Staggered, load.Together}).Draw(t, "pattern")
		b := newBits(1000, n, bandwidth, pattern)
		sent, when, since := make([]int64, n), make([]int64, n), make([]int64, n)
		for i := range since {
			since[i] = b.queue[i].sentUpTo
		}
		now := int64(0)
		for range 20 * n {
			at, i := b.Peek()
			if when[i] != 0 && at < when[i]+bitsTick && b.iteration == when[i] {
				t.Fatalf("connection %d: got its next turn %d ns after the last, want at least %d", i, at-when[i], bitsTick)
			}
			now = max(now, at) + rapid.Int64Range(0, 3_000_000).Draw(t, "late")
			sent[i] += int64(b.take(now))
			when[i] = b.iteration
			want := float64(when[i]-since[i]) * bandwidth / 8e9
			if off := want - float64(sent[i]); off < -1-want*1e-6 || off > 2+want*1e-6 {
				t.Fatalf("connection %d: got %d bytes in %d ns at %v bit/s, want %v", i, sent[i], when[i]-since[i], bandwidth, want)
			}
		}
	})
}

func TestOneMegabitOnTimeIsAThousandWritesOf125Bytes(t *testing.T) {
	b := newBits(0, 1, 1e6, load.Together)
	for k := range 1000 {
		at, _ := b.Peek()
		if want := int64(k) * 1_000_000; at != want {
			t.Fatalf("write %d: got due time %d, want %d", k, at, want)
		}
		if n := b.take(at); n < 124 || n > 126 {
			t.Fatalf("write %d: got %d bytes, want about 125", k, n)
		}
	}
}

func TestOneByteASecondWaitsForItsByte(t *testing.T) {
	b := newBits(0, 1, 8, load.Together)
	b.take(0)
	if at, _ := b.Peek(); math.Abs(float64(at)-1e9) > 1e3 {
		t.Errorf("8 bit/s: got the next write after %d ns, want 1 s", at)
	}
}
