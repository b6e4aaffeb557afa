package sample

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// programName is what this binary is called when it is one of the programs that the tests account
// for. It is a name and no environment variable, since children would inherit that and become their
// parents.
const programName = "weir-test-program"

// TestMain runs the tests, or is one of the programs that they account for.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[0] == programName {
		runProgram(os.Args[1])
		return
	}
	goleak.VerifyTestMain(m)
}
