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
		{"none", nil, Valid, 0},
		{"padding", Options{1, 1, 0, 99}, Valid, 0},
		{"an unknown kind", Options{0x99, 4, 1, 2}, Valid, 0},
		{"router alert", Options{0x94, 4, 0, 0}, Valid, 0},
		{"a recorded route", Options{7, 7, 4, 0, 0, 0, 0, 0}, Valid, 0},
		{"a loose route", Options{131, 7, 4, 1, 2, 3, 4, 0}, SourceRouted, 0},
		{"a strict route after others", Options{1, 0x99, 2, 137, 7, 4, 1, 2, 3, 4, 0, 0}, SourceRouted, 3},
		{"no length", Options{1, 1, 1, 7}, MalformedOption, 3},
		{"a length of 1", Options{7, 1, 4, 0}, MalformedOption, 0},
		{"longer than the header", Options{1, 7, 7, 4}, MalformedOption, 1},
		{"a route with too small a pointer", Options{7, 7, 3, 0, 0, 0, 0, 0}, MalformedOption, 2},
		{"a route without a pointer", Options{7, 2, 0, 0}, MalformedOption, 1},
		{"timestamps with too small a pointer", Options{68, 8, 4, 0, 0, 0, 0, 0}, MalformedOption, 2},
		{"timestamps without flags", Options{68, 3, 5, 0}, MalformedOption, 2},
	} {
		if v, at := c.o.Check(); v != c.want || at != c.at {
			t.Errorf("%s: got %v at %d, want %v at %d", c.name, v, at, c.want, c.at)
		}
	}
}

// The reply to an echo request carries its route and timestamps, updated (RFC 1122, section
// 3.2.2.6).
func TestEchoReplyOptions(t *testing.T) {
	const ms = 0x01020304
	for _, c := range []struct {
		name    string
		o, want Options
	}{
		{"no option for the reply", Options{0x94, 4, 0, 0}, nil},
		{"a route with room", Options{7, 11, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0}, Options{7, 11, 8, 10, 0, 0, 2, 0, 0, 0, 0, 0}},
		{"a route with room for one more", Options{7, 11, 8, 1, 1, 1, 1, 0, 0, 0, 0, 0}, Options{7, 11, 12, 1, 1, 1, 1, 10, 0, 0, 2, 0}},
		{"a full route", Options{7, 7, 8, 1, 1, 1, 1, 0}, Options{7, 7, 8, 1, 1, 1, 1, 0}},
		{"timestamps", Options{68, 8, 5, 0, 0, 0, 0, 0}, Options{68, 8, 9, 0, 1, 2, 3, 4}},
		{"full timestamps", Options{68, 8, 9, 0x20, 9, 9, 9, 9}, Options{68, 8, 9, 0x30, 9, 9, 9, 9}},
		{"full timestamps with a saturated overflow count", Options{68, 8, 9, 0xf0, 9, 9, 9, 9}, Options{68, 8, 9, 0xf0, 9, 9, 9, 9}},
		{"timestamps with addresses", Options{68, 12, 5, 1, 0, 0, 0, 0, 0, 0, 0, 0}, Options{68, 12, 13, 1, 10, 0, 0, 2, 1, 2, 3, 4}},
		{"timestamps of prespecified hosts, with this one", Options{68, 12, 5, 3, 10, 0, 0, 2, 0, 0, 0, 0}, Options{68, 12, 13, 3, 10, 0, 0, 2, 1, 2, 3, 4}},
		{"timestamps of prespecified hosts, without this one", Options{68, 12, 5, 3, 10, 0, 0, 9, 0, 0, 0, 0}, Options{68, 12, 5, 3, 10, 0, 0, 9, 0, 0, 0, 0}},
		{"timestamps with unknown flags", Options{68, 12, 5, 7, 0, 0, 0, 0, 0, 0, 0, 0}, Options{68, 12, 5, 7, 0, 0, 0, 0, 0, 0, 0, 0}},
	} {
		before := bytes.Clone(c.o)
		if got := c.o.EchoReply(bob, ms); !bytes.Equal(got, c.want) {
			t.Errorf("%s: got % x, want % x", c.name, got, c.want)
		}
		if !bytes.Equal(c.o, before) {
			t.Errorf("%s: the request was changed to % x, want % x", c.name, c.o, before)
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
		if v != Valid && at >= len(o) {
			t.Errorf("the fault is at offset %d of %d bytes, want it within them", at, len(o))
		}
		reply := Options(o.EchoReply(bob, 1))
		if len(reply) > len(o) || len(reply)%4 != 0 {
			t.Errorf("got options of %d bytes in the reply to %d, want at most as many and a multiple of 4", len(reply), len(o))
		}
		if got, _ := reply.Check(); v == Valid && got != Valid {
			t.Errorf("the reply to % x has the malformed options % x, want valid ones", []byte(o), []byte(reply))
		}
	})
}
