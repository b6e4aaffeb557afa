package core

import (
	"testing"

	"weir/chat/search"
)

func TestResultsFitIntoAnOutbox(t *testing.T) {
	long := []search.Result{{Line: make([]byte, maxReplayBytes-10)}, {Line: make([]byte, 10)}, {Line: make([]byte, 1)}}
	if n := len(dropExcessResults(long)); n != 2 {
		t.Errorf("got %d results, want the first two", n)
	}
}
