package stream

import (
	"strings"
	"testing"

	"weir/lab/result"
)

func TestTheReportListsEventsByArrivalPattern(t *testing.T) {
	r := &result.Results{Subjects: []result.Subject{{Name: "a"}, {Name: "b"}, {Name: "c"}}, EventCounts: []result.EventCounts{
		{Subject: "a", Connections: 64, Pattern: "staggered", Syscalls: 7.4, Wakeups: 1.7},
		{Subject: "a", Connections: 64, Pattern: "together", Syscalls: 2.9, Wakeups: 0.3},
		{Subject: "b", Connections: 64, Pattern: "staggered", Syscalls: 4, Wakeups: -1},
		{Subject: "b", Connections: 64, Pattern: "together", Syscalls: 3, Wakeups: -1},
		{Subject: "c", Connections: 64, Pattern: "together", Syscalls: 3, Wakeups: -1},
	}}
	blocks := newDigest(r).eventBlocks()
	if len(blocks) != 2 {
		t.Fatalf("got %d blocks, want a text and a list", len(blocks))
	}
	want := "a, 64 connections: staggered 7.40 (1.70), together 2.90 (0.30)\nb, 64 connections: staggered 4.00, together 3.00"
	if got := strings.Join(blocks[1].Items, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	r.EventCounts = r.EventCounts[3:]
	if blocks := newDigest(r).eventBlocks(); len(blocks) > 0 {
		t.Errorf("one pattern for each subject: got %+v, want nothing", blocks)
	}
}
