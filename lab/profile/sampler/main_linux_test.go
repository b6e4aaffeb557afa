package sampler

import (
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// The test binary is also the program that is sampled: "spin" computes.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "spin" {
		for began := time.Now(); time.Since(began) < spinCPU; {
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}
