package tcp

import (
	"slices"
	"testing"
)

// asked are the sizes of buffers that were asked for. None larger than most is given.
type asked struct {
	sizes []int
	most  int
}

func (a *asked) Get(size int) []byte {
	a.sizes = append(a.sizes, size)
	if size > a.most {
		return nil
	}
	return make([]byte, size)
}

func (a *asked) Put([]byte)     {}
func (a *asked) Share(bool) int { return Unlimited }

// A buffer is at once as large as the last one had to be, if there is that much, and no larger than
// what it was for.
func TestARingRemembersHowLargeItWas(t *testing.T) {
	m := &asked{most: 1 << 20}
	var r ring
	fill := func(n int) {
		t.Helper()
		for i := range n / 1000 {
			if !r.reserve((i+1)*1000, i*1000, m) {
				t.Fatalf("no room for %d bytes", (i+1)*1000)
			}
		}
		r.length = n
		r.discard(n, false, m)
	}
	expect := func(what string, sizes ...int) {
		t.Helper()
		if !slices.Equal(m.sizes, sizes) {
			t.Errorf("%s: buffers of %d bytes were asked for, want %d", what, m.sizes, sizes)
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
