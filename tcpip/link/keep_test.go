package link

import (
	"bytes"
	"slices"
	"testing"

	"weir/wire"
)

// What a reader keeps stays as it is, whatever is read later; what it gives for it is used.
func TestWhatIsKeptStays(t *testing.T) {
	each(t, func(t *testing.T, s station) {
		q, ok := s.link.Queue(0).(Keeper)
		if !ok {
			t.Skip("this link's frames are copied by who keeps them")
		}
		var batch [4]Frame
		var kept, buffers, sent [][]byte
		for nth := range 40 {
			sent = append(sent, frame(nth, 100+30*nth))
			s.send(t, sent[nth])
			for len(kept) <= nth {
				n, err := q.Read(batch[:], patience)
				if err != nil {
					t.Fatal(err)
				}
				for i, f := range batch[:n] {
					if wire.Ethernet(f.Bytes).Type() != typeTest {
						continue
					}
					var spare []byte
					if nth%3 == 2 { // what the first of three was in
						spare = buffers[nth-2]
						kept[nth-2] = bytes.Clone(kept[nth-2])
					}
					kept = append(kept, f.Bytes)
					buffers = append(buffers, q.Keep(i, spare))
				}
			}
		}
		same(t, kept, sent)
		for nth, b := range kept {
			at := &b[len(b)-1]
			if nth%3 != 0 && !slices.ContainsFunc(buffers, func(buffer []byte) bool { return within(buffer, at) }) {
				t.Errorf("frame %d is in no buffer that Keep returned", nth)
			}
		}
	})
}

// within says whether a byte is one of a buffer's.
func within(buffer []byte, at *byte) bool {
	for i := range buffer {
		if &buffer[i] == at {
			return true
		}
	}
	return false
}
