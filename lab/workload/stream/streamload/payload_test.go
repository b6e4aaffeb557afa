package streamload

import (
	"bytes"
	"testing"
	"weir/lab/load"

	"pgregory.net/rapid"
)

// read collects n bytes of connection i from offset on, in parts.
func read(p *payload, i int, offset int64, n int) (text []byte) {
	for n > 0 {
		piece := p.at(i, offset, n)
		text = append(text, piece...)
		offset += int64(len(piece))
		n -= len(piece)
	}
	return text
}

func TestPayloadDoesNotDependOnItsParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPayload(rapid.IntRange(1, 5000).Draw(t, "size"))
		i := rapid.IntRange(0, load.MaxConnections).Draw(t, "connection")
		offset := rapid.Int64Range(0, 1<<40).Draw(t, "offset")
		cut := rapid.IntRange(0, span).Draw(t, "cut")
		whole := read(p, i, offset, span)
		parts := append(bytes.Clone(p.at(i, offset, cut)), p.at(i, offset+int64(cut), span-cut)...)
		if !bytes.Equal(whole, parts) {
			t.Fatalf("cut at %d: got a different text, want the same in parts", cut)
		}
	})
}

func TestPayloadShowsLossAndConfusion(t *testing.T) {
	for _, size := range []int{2, 8, 100, 1000, 65536, MaxSize} {
		p := newPayload(size)
		text := read(p, 0, 0, 2*size)
		if bytes.Equal(text[:size], text[size:]) {
			t.Errorf("size %d: got two consecutive equal messages, want different ones, so that a lost one is detected", size)
		}
		if bytes.Equal(text[:size], read(p, 1, 0, size)) {
			t.Errorf("size %d: got two connections with the same text, want different ones, so that a mix-up is detected", size)
		}
		if size >= 8 && (text[size-1] != '\n' || bytes.IndexByte(text[:size-1], '\n') >= 0) {
			t.Errorf("size %d: got a message with a newline elsewhere than at its end, want one line", size)
		}
	}
}

func TestRepeatedTextContinuesAtItsOffset(t *testing.T) {
	p := newRepeated(bitsText)
	if got := string(p.at(5, 3, 16)); got != "sage\nmessage\nmes" {
		t.Errorf("from byte 3 on: got %q, want %q", got, "sage\nmessage\nmes")
	}
}
