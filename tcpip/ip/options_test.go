package ip

import (
	"bytes"
	"testing"
)

func TestOptionsAreChecked(t *testing.T) {
	for _, c := range []struct {
		name string
		o    Options
		want Verdict
		at   int
	}{
		{"none", nil, Good, 0},
		{"padding", Options{1, 1, 0, 99}, Good, 0},
		{"a kind that nobody knows", Options{0x99, 4, 1, 2}, Good, 0},
		{"router alert", Options{0x94, 4, 0, 0}, Good, 0},
		{"a recorded route", Options{7, 7, 4, 0, 0, 0, 0, 0}, Good, 0},
		{"a loose route", Options{131, 7, 4, 1, 2, 3, 4, 0}, Routed, 0},
		{"a strict route, behind others", Options{1, 0x99, 2, 137, 7, 4, 1, 2, 3, 4, 0, 0}, Routed, 3},
		{"no length", Options{1, 1, 1, 7}, Broken, 3},
		{"a length of 1", Options{7, 1, 4, 0}, Broken, 0},
		{"longer than the header", Options{1, 7, 7, 4}, Broken, 1},
		{"a route whose pointer is before it", Options{7, 7, 3, 0, 0, 0, 0, 0}, Broken, 2},
		{"a route without a pointer", Options{7, 2, 0, 0}, Broken, 1},
		{"times whose pointer is before them", Options{68, 8, 4, 0, 0, 0, 0, 0}, Broken, 2},
		{"times without flags", Options{68, 3, 5, 0}, Broken, 2},
	} {
		if v, at := c.o.Check(); v != c.want || at != c.at {
			t.Errorf("%s: %v at %d, want %v at %d", c.name, v, at, c.want, c.at)
		}
	}
}

// RFC 1122, section 3.2.2.6: the answer to an echo tells of the whole way.
func TestEchoesTellOfTheWay(t *testing.T) {
	const ms = 0x01020304
	for _, c := range []struct {
		name    string
		o, want Options
	}{
		{"nothing to tell", Options{0x94, 4, 0, 0}, nil},
		{"a route with room", Options{7, 11, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0}, Options{7, 11, 8, 10, 0, 0, 2, 0, 0, 0, 0, 0}},
		{"a route with room for one more", Options{7, 11, 8, 1, 1, 1, 1, 0, 0, 0, 0, 0}, Options{7, 11, 12, 1, 1, 1, 1, 10, 0, 0, 2, 0}},
		{"a route that is full", Options{7, 7, 8, 1, 1, 1, 1, 0}, Options{7, 7, 8, 1, 1, 1, 1, 0}},
		{"times", Options{68, 8, 5, 0, 0, 0, 0, 0}, Options{68, 8, 9, 0, 1, 2, 3, 4}},
		{"times that are full", Options{68, 8, 9, 0x20, 9, 9, 9, 9}, Options{68, 8, 9, 0x30, 9, 9, 9, 9}},
		{"times that are full, and overflowed as often as can be said", Options{68, 8, 9, 0xf0, 9, 9, 9, 9}, Options{68, 8, 9, 0xf0, 9, 9, 9, 9}},
		{"times with addresses", Options{68, 12, 5, 1, 0, 0, 0, 0, 0, 0, 0, 0}, Options{68, 12, 13, 1, 10, 0, 0, 2, 1, 2, 3, 4}},
		{"times of those asked, us among them", Options{68, 12, 5, 3, 10, 0, 0, 2, 0, 0, 0, 0}, Options{68, 12, 13, 3, 10, 0, 0, 2, 1, 2, 3, 4}},
		{"times of those asked, without us", Options{68, 12, 5, 3, 10, 0, 0, 9, 0, 0, 0, 0}, Options{68, 12, 5, 3, 10, 0, 0, 9, 0, 0, 0, 0}},
		{"times that nobody knows", Options{68, 12, 5, 7, 0, 0, 0, 0, 0, 0, 0, 0}, Options{68, 12, 5, 7, 0, 0, 0, 0, 0, 0, 0, 0}},
	} {
		before := bytes.Clone(c.o)
		if got := c.o.Answer(bob, ms); !bytes.Equal(got, c.want) {
			t.Errorf("%s: % x, want % x", c.name, got, c.want)
		}
		if !bytes.Equal(c.o, before) {
			t.Errorf("%s: what came was changed", c.name)
		}
	}
}

func FuzzOptions(f *testing.F) {
	f.Add([]byte{7, 11, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Add([]byte{68, 12, 5, 1, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Add([]byte{1, 131, 7, 4, 1, 2, 3, 4})
	f.Fuzz(func(t *testing.T, b []byte) {
		o := Options(b[:min(len(b), 40)&^3])
		v, at := o.Check()
		if v != Good && at >= len(o) {
			t.Errorf("the fault is at %d of %d", at, len(o))
		}
		answer := Options(o.Answer(bob, 1))
		if len(answer) > len(o) || len(answer)%4 != 0 {
			t.Errorf("an answer of %d bytes to %d", len(answer), len(o))
		}
		if got, _ := answer.Check(); v == Good && got != Good {
			t.Errorf("% x is answered by % x", []byte(o), []byte(answer))
		}
	})
}
