package stack

import (
	"strings"
	"testing"
)

func TestPortsHoldConnectionsUp(t *testing.T) {
	for _, c := range []struct {
		ports ports
		rate  float64
		want  string
	}{
		{ports{32768, 60999, false, 1000}, 1, "after 14116 connections"},
		{ports{32768, 60999, true, 1000}, 12_000, ""},
		{ports{32768, 60999, true, 1000}, 14_000, "some 14116 connections a second"},
		{ports{1024, 65535, true, 1000}, 28_000, ""},
		{ports{1024, 65535, true, 1000}, 32_250, "64512 ports, each used again after 1000 ms"},
		{ports{1024, 65535, true, 10}, 50_000, ""},
	} {
		if note := c.ports.note(c.rate); note != c.want && (c.want == "" || !strings.Contains(note, c.want)) {
			t.Errorf("%+v at %v/s: %q, want %q", c.ports, c.rate, note, c.want)
		}
	}
	if p := portsHere("127.0.0.1"); p.low < 1 || p.high <= p.low || p.delayMS < 1 {
		t.Errorf("the ports here are %+v", p)
	}
}
