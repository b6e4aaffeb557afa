package tcp

import (
	"slices"
	"testing"
)

// recordingMemory is a Memory that records the requested sizes and refuses those above most.
type recordingMemory struct {
	sizes []int
	most  int
}

func (a *recordingMemory) Get(size int) []byte {
	a.sizes = append(a.sizes, size)
	if size > a.most {
		return nil
	}
	return make([]byte, size)
}

func (a *recordingMemory) Put([]byte)     {}
func (a *recordingMemory) Share(bool) int { return Unlimited }

// A ring allocates the size that it last needed, if there is that much memory, and otherwise what
// it needs now.
func TestRingAllocatesItsFormerSize(t *testing.T) {
	m := &recordingMemory{most: 1 << 20}
	var r ring
	fill := func(n int) {
		t.Helper()
		for i := range n / 1000 {
			if !r.reserve((i+1)*1000, i*1000, m) {
				t.Fatalf("reserve of %d bytes failed, want room", (i+1)*1000)
			}
		}
		r.length = n
		r.discard(n, false, m)
	}
	expect := func(what string, sizes ...int) {
		t.Helper()
		if !slices.Equal(m.sizes, sizes) {
			t.Errorf("%s: got requests for buffers of %d bytes, want %d", what, m.sizes, sizes)
		}
		m.sizes = nil
	}
	fill(20_000)
	expect("first", 4<<10, 8<<10, 16<<10, 32<<10)
	fill(20_000)
	expect("again", 32<<10)
	fill(1000)
	expect("less", 32<<10)
	fill(5000)
	expect("more", 4<<10, 8<<10)
	m.most = 4 << 10
	fill(3000)
	expect("short of memory", 8<<10, 4<<10)
}
