package upgrade

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// childFlag starts the test binary as a new process with a behaviour: -upgrade.child=BEHAVIOUR.
const childFlag = "-upgrade.child="

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && len(os.Args[1]) > len(childFlag) && os.Args[1][:len(childFlag)] == childFlag {
		if err := beNew(os.Args[1][len(childFlag):]); err != nil {
			fmt.Fprintln(os.Stderr, "new process:", err)
			os.Exit(3)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}
