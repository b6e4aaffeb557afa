package stackload

import (
	"strings"
	"testing"
)

func TestPortsLimitTheRateOfConnections(t *testing.T) {
	for _, c := range []struct {
		ports ports
		rate  float64
		want  string
	}{
		{ports{32768, 60999, false, 1000}, 1, "after 14116 connections"},
		{ports{32768, 60999, true, 1000}, 12_000, ""},
		{ports{32768, 60999, true, 1000}, 14_000, "about 14116 connections per second"},
		{ports{1024, 65535, true, 1000}, 28_000, ""},
		{ports{1024, 65535, true, 1000}, 32_250, "64512 ports, each reused after 1000 ms"},
		{ports{1024, 65535, true, 10}, 50_000, ""},
	} {
		if note := c.ports.note(c.rate); note != c.want && (c.want == "" || !strings.Contains(note, c.want)) {
			t.Errorf("%+v at %v/s: got %q, want %q", c.ports, c.rate, note, c.want)
		}
	}
	if p := portsHere("127.0.0.1"); p.low < 1 || p.high <= p.low || p.delayMS < 1 {
		t.Errorf("got the ports %+v, want a valid range and delay", p)
	}
}
