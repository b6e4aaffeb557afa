package raw

import "testing"

// The two readings are microseconds apart, regardless of the scheduling of this thread between
// them, because the second is bracketed.
func TestClockReadsTheSameAsTheSystemCall(t *testing.T) {
	c := NewClock(Monotonic)
	for range 100 {
		before, between, after := c.Now(), Monotonic(), c.Now()
		if between < before-1_000_000 || between > after+1_000_000 {
			t.Fatalf("got %d between %d and %d, want it between them, give or take 1 ms", between, before, after)
		}
	}
}
