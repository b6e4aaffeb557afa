package docs

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"weir/internal/chromium"
)

// the folder of the command that tests built, for TestMain to remove; empty when none did
var built string

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(chromium.Main(m), goleak.Cleanup(func(code int) {
		if built != "" {
			os.RemoveAll(built)
		}
		os.Exit(code)
	}))
}
