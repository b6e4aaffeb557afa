package account

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// The test binary is also another process that uses the same data directory: "worker DIR [STEP
// NUMBER]" does what standard input says, line by line (see work), and kills itself at the NUMBERth
// time that a change reaches STEP.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "worker" {
		work(os.Args[2], os.Args[3:])
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}
