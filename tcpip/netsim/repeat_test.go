package netsim

import (
	"strings"
	"testing"
	"time"

	"weir/tcpip/fabric"
)

// Two runs are compared from their first packet on, also if their traces have forgotten it.
func TestForgottenPacketsAreCompared(t *testing.T) {
	net := fabric.New(fabric.Config{})
	h, err := net.Host("h")
	if err != nil {
		t.Fatal(err)
	}
	run := func(differs int, limit int) *trace {
		r := newTrace()
		r.callers, r.limit, r.began = true, limit, time.Unix(0, 0)
		for n := range 100 {
			b := make([]byte, 100)
			if n == differs {
				b[99] = 1
			}
			r.observe(fabric.Event{At: time.Unix(int64(n), 0), Kind: fabric.EventSent, Node: h, Packet: b})
		}
		return r
	}
	for _, c := range []struct {
		a, b, limit int
		want        string
	}{
		{-1, -1, 4000, ""},
		{-1, 3, 1 << 20, "packet 4 differs from byte 99"},
		{-1, 3, 4000, "packet 4 differs. The first run sent\n    3s, h: a packet that is no longer kept"},
		{98, -1, 4000, "packet 99 differs from byte 99"},
	} {
		if got := firstDifference(run(c.a, c.limit), run(c.b, c.limit)); !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("packets %d and %d differ, limit %d: got %q, want %q", c.a, c.b, c.limit, got, c.want)
		}
	}
}
