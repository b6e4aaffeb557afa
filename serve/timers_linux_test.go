package serve

import (
	"testing"

	"pgregory.net/rapid"
)

// After any sequence of set and remove, next returns the earliest timer that is set.
func TestNextTimerIsTheEarliest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var heap timers
		all := make([]timer, 20)
		for i := range all {
			all[i].index = unset
		}
		for range rapid.IntRange(0, 200).Draw(t, "steps") {
			one := &all[rapid.IntRange(0, len(all)-1).Draw(t, "timer")]
			if rapid.Bool().Draw(t, "set") {
				heap.set(one, rapid.Int64Range(1, 50).Draw(t, "at"))
			} else {
				heap.remove(one)
			}
			earliest, set := int64(0), 0
			for i := range all {
				if all[i].index == unset {
					continue
				}
				if set++; set == 1 || all[i].at < earliest {
					earliest = all[i].at
				}
			}
			if at, some := heap.next(); some != (set > 0) || at != earliest || len(heap) != set {
				t.Fatalf("next is %d, %v with %d in the heap, want %d of %d", at, some, len(heap), earliest, set)
			}
		}
	})
}
