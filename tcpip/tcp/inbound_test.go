package tcp

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

// What is lent is read in its place, whether or not it was moved to the ring before, and whatever
// is taken from in front of it.
func TestWhatIsLentIsReadInItsPlace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var in inbound
		var want []byte // what the stream holds
		frame := []byte{}
		next := byte(0)
		piece := func() []byte {
			p := make([]byte, rapid.IntRange(1, 3000).Draw(t, "bytes"))
			for i := range p {
				next++
				p[i] = next
			}
			if !in.reserve(in.n+len(p), in.n, plain{}) {
				t.Fatal("there is memory")
			}
			want = append(want, p...)
			return p
		}
		take := func(n int) {
			want = want[n:]
			in.discard(n, false, plain{})
		}
		t.Repeat(map[string]func(*rapid.T){
			"lend": func(*rapid.T) {
				frame = piece()
				in.lend(frame)
				in.n += len(frame)
			},
			"copy": func(*rapid.T) {
				p := piece()
				in.settle()
				in.put(in.n, p)
				in.n += len(p)
			},
			"the batch is through": func(*rapid.T) {
				in.settle()
				clear(frame) // another packet lies there now
			},
			"read": func(t *rapid.T) {
				p := make([]byte, rapid.IntRange(0, in.n).Draw(t, "read"))
				in.get(p)
				if !bytes.Equal(p, want[:len(p)]) {
					t.Fatalf("%d bytes are not what came", len(p))
				}
				take(len(p))
			},
			"look": func(t *rapid.T) {
				p := in.next(rapid.IntRange(1, 4096).Draw(t, "look"))
				if !bytes.Equal(p, want[:len(p)]) || len(p) == 0 && in.n > 0 {
					t.Fatalf("%d bytes of %d are not what came", len(p), in.n)
				}
				take(len(p))
			},
			"": func(t *rapid.T) {
				if in.n != len(want) || in.n == 0 && in.b != nil {
					t.Fatalf("%d bytes are there, want %d", in.n, len(want))
				}
			},
		})
	})
}
