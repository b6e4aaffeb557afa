//go:build amd64 || arm64

package program

import (
	"fmt"
	"os"
	"strconv"
	"testing"

	"go.uber.org/goleak"
)

// The test binary is also the guard ("guard FD"), and the program whose conversation is compared
// with that on the kernel's network ("converse NAME"), and
// a supervisor that is killed ("supervise COMMAND...").
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "guard" {
		fd, _ := strconv.Atoi(os.Args[2])
		status, err := Inside(os.NewFile(uintptr(fd), "control"))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			status = 1
		}
		os.Exit(status)
	}
	if len(os.Args) > 2 && os.Args[1] == "converse" {
		converse(os.Args[2])
		os.Exit(0)
	}
	if len(os.Args) > 2 && os.Args[1] == "supervise" {
		supervise(os.Args[2:])
		os.Exit(0)
	}
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("runtime.handleEvent"))
}
