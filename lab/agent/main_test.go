package agent

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

// The test binary is also a server and an agent of its tests.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		runProgram(os.Args[1], os.Args[2:])
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		os.RemoveAll(builtIn)
		os.Exit(code)
	}))
}

// the folder of the program that tests built, for TestMain to remove; empty if none was built
var builtIn string

// weirVersion is the version of weirBinary and of the coordinators of tests.
const weirVersion = "v0-test"

// weirBinary builds the program whose agents and load generators the tests use.
var weirBinary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "weir-test")
	if err != nil {
		return "", err
	}
	builtIn = dir
	file := filepath.Join(dir, "weir")
	out, err := exec.Command("go", "build", "-ldflags", "-X main.version="+weirVersion, "-o", file, "weir/cmd/weir").CombinedOutput()
	if err != nil {
		return "", errors.New(string(out))
	}
	return file, nil
})
