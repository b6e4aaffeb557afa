package tcp

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

// Lent pieces are read at their place in the stream, whether or not they were copied into the ring
// before, and whatever was read before them.
func TestLentPiecesAreReadInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var in receiveBuffer
		var want []byte // what the stream holds
		frame := []byte{}
		next := byte(0)
		piece := func() []byte {
			p := make([]byte, rapid.IntRange(1, 3000).Draw(t, "bytes"))
			for i := range p {
				next++
				p[i] = next
			}
			if !in.reserve(in.length+len(p), in.length, heapMemory{}) {
				t.Fatal("reserve failed, want room: the heap has no limit")
			}
			want = append(want, p...)
			return p
		}
		take := func(n int) {
			want = want[n:]
			in.discard(n, false, heapMemory{})
		}
		t.Repeat(map[string]func(*rapid.T){
			"lend": func(*rapid.T) {
				frame = piece()
				in.lend(frame)
				in.length += len(frame)
			},
			"copy": func(*rapid.T) {
				p := piece()
				in.copyLent()
				in.put(in.length, p)
				in.length += len(p)
			},
			"end of batch": func(*rapid.T) {
				in.copyLent()
				clear(frame) // the frame is reused
			},
			"read": func(t *rapid.T) {
				p := make([]byte, rapid.IntRange(0, in.length).Draw(t, "read"))
				in.get(p)
				if !bytes.Equal(p, want[:len(p)]) {
					t.Fatalf("the %d bytes read differ from those received, want them in order", len(p))
				}
				take(len(p))
			},
			"look": func(t *rapid.T) {
				p := in.peek(rapid.IntRange(1, 4096).Draw(t, "look"))
				if !bytes.Equal(p, want[:len(p)]) || len(p) == 0 && in.length > 0 {
					t.Fatalf("the %d peeked bytes of %d differ from those received, want the next ones in order, and at least one", len(p), in.length)
				}
				take(len(p))
			},
			"": func(t *rapid.T) {
				if in.length != len(want) || in.length == 0 && in.buf != nil {
					t.Fatalf("the buffer holds %d bytes, want %d, and no memory when empty", in.length, len(want))
				}
			},
		})
	})
}
