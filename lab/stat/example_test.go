package stat_test

import (
	"fmt"

	"weir/lab/stat"
)

// Example compares two servers that ran in five palindromic blocks on a machine that became
// slower: each block has two trials of each, at mirrored positions (a b b a).
func Example() {
	var a, b []stat.Trial
	for block := range 5 {
		slower := 1 + 0.1*float64(block)           // the machine, not the servers
		wobble := 1 + 0.01*float64(block%3) - 0.01 // noise
		a = append(a,
			stat.Trial{Block: block, Position: 0, Value: 12 * slower * wobble},
			stat.Trial{Block: block, Position: 3, Value: 12 * slower})
		b = append(b,
			stat.Trial{Block: block, Position: 1, Value: 10 * slower},
			stat.Trial{Block: block, Position: 2, Value: 10 * slower * wobble})
	}
	ratio := stat.PairedRatio(a, b)
	verdict := stat.Judge([]stat.Estimate{ratio}, 0.05)[0]
	fmt.Printf("%s: a costs %.2f times what b costs (95 %% interval %.2f to %.2f)\n",
		verdict.Word, ratio.Ratio, verdict.Low, verdict.High)
	// Output:
	// different: a costs 1.20 times what b costs (95 % interval 1.20 to 1.20)
}
