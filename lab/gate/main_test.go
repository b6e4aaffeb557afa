package gate

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		os.RemoveAll(builtIn)
		os.Exit(code)
	}))
}

// the folder of the program that tests built, for TestMain to remove; empty if none was built
var builtIn string

// packageDir is the folder of this package, which tests leave. tempDir is that for temporary files
// before tests change it.
var (
	packageDir, _ = os.Getwd()
	tempDir       = os.TempDir()
)

// weirBinary builds the program whose load generator the trials use.
var weirBinary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp(tempDir, "weir-test")
	if err != nil {
		return "", err
	}
	builtIn = dir
	file := filepath.Join(dir, "weir")
	cmd := exec.Command("go", "build", "-o", file, "weir/cmd/weir")
	cmd.Dir = packageDir
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", errors.New(string(out))
	}
	return file, nil
})
