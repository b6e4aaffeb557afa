package docs

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"weir/internal/chromium"
)

// builtDir is the folder of the binary that tests have built. TestMain removes it. It is empty if
// no test built it.
var builtDir string

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(chromium.Main(m), goleak.Cleanup(func(code int) {
		if builtDir != "" {
			os.RemoveAll(builtDir)
		}
		os.Exit(code)
	}))
}
