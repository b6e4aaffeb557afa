package perfring

import "testing"

func FuzzRecords(f *testing.F) {
	f.Add(uint32(9), []byte{4, 0, 0, 0, 1, 2, 3, 4})
	f.Add(uint32(9), []byte{0, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, kind uint32, body []byte) {
		raw := Record{Kind: kind, Body: body}.Raw()
		if len(raw) > len(body) {
			t.Errorf("got %d bytes from a record of %d, want no more", len(raw), len(body))
		}
		if got := Uint(raw, 8, 8); len(raw) < 16 && got != 0 {
			t.Errorf("got %d after the end of the data, want 0", got)
		}
	})
}
