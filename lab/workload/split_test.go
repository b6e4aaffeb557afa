package workload

import (
	"testing"

	"weir/lab/load"
)

func TestPortionsAreEvenAndComplete(t *testing.T) {
	for total := range 40 {
		for n := 1; n < 12; n++ {
			sum := 0
			for i := range n {
				p := Portion(total, n, i)
				if sum += p; p < total/n || p > total/n+1 {
					t.Errorf("portion %d of %d of %d: got %d, want %d or one more", i, n, total, p, total/n)
				}
			}
			if sum != total {
				t.Errorf("%d portions of %d: got a sum of %d", n, total, sum)
			}
		}
	}
}

func TestCellsThatCannotBeSplitAreRefused(t *testing.T) {
	for _, c := range []Cell{{Connections: 2, Pattern: load.Staggered}, {Connections: 64, Pattern: load.Together}} {
		if all, err := SplitCell(nil, c, 3); err == nil {
			t.Errorf("%+v over 3 agents: got %v, want an error", c, all)
		}
	}
}
