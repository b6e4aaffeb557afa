package sample

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// programName is the name of this binary when it is one of the programs that the tests account for.
// It is not an environment variable, because children would inherit that and run the same program.
const programName = "weir-test-program"

// TestMain runs the tests, or one of the programs that they account for.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[0] == programName {
		runProgram(os.Args[1])
		return
	}
	goleak.VerifyTestMain(m)
}
