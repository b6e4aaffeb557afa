package streamload

import (
	"testing"

	"weir/lab/internal/oneloop"
)

// TestBitsCountMessagesRegardlessOfWrites: a write of 125 bytes is 15.6 messages of 8 bytes, or an
// eighth of one of 1,000.
func TestBitsCountMessagesRegardlessOfWrites(t *testing.T) {
	for _, test := range []struct {
		size int
		want []int64 // messages sent after each write of 125 bytes
	}{
		{8, []int64{15, 31, 46, 62}},
		{1000, []int64{0, 0, 0, 0, 0, 0, 0, 1, 1}},
	} {
		s, err := oneloop.NewState(oneloop.Setup{Steered: true})
		if err != nil {
			t.Fatal(err)
		}
		defer s.End()
		l := newLoop(t.Context(), Config{Size: test.size, Bits: 1e6, Connections: 1}, s)
		for i, want := range test.want {
			if l.countSent(0, 125, 1); l.Done.Load() != want {
				t.Errorf("got %d messages of %d bytes after %d writes of 125 bytes, want %d", l.Done.Load(), test.size, i+1, want)
			}
		}
	}
}
