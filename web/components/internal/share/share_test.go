package share_test

import (
	"strings"
	"testing"

	"weir/web/components/internal/share"
)

func TestOneClientLeavesHalfToOthers(t *testing.T) {
	var lines []string
	l := share.New(4, func(line string) { lines = append(lines, line) })
	for i, step := range []struct {
		from string
		in   bool
	}{
		// one network
		{"[2001:db8::1]:1", true}, {"[2001:db8::2]:1", true}, {"[2001:db8::3]:1", false},
		{"192.0.2.1:1", true}, {"127.0.0.1:1", true}, {"192.0.2.2:1", false}, // all is taken
	} {
		if got := l.Enter(step.from); got != step.in {
			t.Errorf("step %d, %s: got %v, want %v", i, step.from, got, step.in)
		}
	}
	if len(lines) != 1 || !strings.HasPrefix(lines[0], "2001:db8::/64 has 2 of 4 places") || !strings.Contains(lines[0], "add it to trusted") {
		t.Errorf("got %q, want one line about the client that has its share", lines)
	}
	l.Leave("[2001:db8::2]:1")
	if !l.Enter("[2001:db8::9]:1") {
		t.Error("Enter of a client that has left a place: got false, want true")
	}
	for _, from := range []string{"[2001:db8::1]:1", "[2001:db8::9]:1", "192.0.2.1:1", "127.0.0.1:1"} {
		l.Leave(from)
	}
	if n := l.Inside(); n != 0 {
		t.Errorf("%d are in, want none", n)
	}
	for range 4 {
		if !l.Enter("127.0.0.1:1") {
			t.Error("Enter of loopback: got false, want true: loopback has no share limit")
		}
	}
}
