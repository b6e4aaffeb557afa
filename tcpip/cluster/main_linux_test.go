package cluster

import (
	"fmt"
	"os"
	"strconv"
	"testing"

	"go.uber.org/goleak"

	"weir/tcpip/program"
)

// TestMain is also the guard of the programs that a test starts.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "guard" {
		fd, _ := strconv.Atoi(os.Args[2])
		status, err := program.Inside(os.NewFile(uintptr(fd), "control"))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(status)
	}
	goleak.VerifyTestMain(m)
}
