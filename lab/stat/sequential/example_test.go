package sequential_test

import (
	"fmt"

	"weir/lab/stat/sequential"
)

// Example runs blocks until the test can decide whether HEAD costs more than 5 % above BASE.
func Example() {
	test, err := sequential.New(sequential.Plan{Margin: 0.05, Confidence: 0.99, Blocks: 20})
	if err != nil {
		fmt.Println(err)
		return
	}
	for block := 0; ; block++ {
		ratio := 1.2 + 0.03*float64(block%3-1) // CPU of HEAD / CPU of BASE in this block
		decision, err := test.Add(ratio)
		if err != nil {
			fmt.Println(err) // the planned blocks are used up
			return
		}
		if decision.Verdict != sequential.Undecided {
			fmt.Printf("%s after %d blocks: HEAD costs %.2f times what BASE costs (%.2f to %.2f)\n",
				decision.Verdict, decision.Blocks, decision.Ratio, decision.Low, decision.High)
			return
		}
	}
	// Output:
	// worse after 7 blocks: HEAD costs 1.20 times what BASE costs (1.08 to 1.32)
}
