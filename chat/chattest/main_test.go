//go:build linux

package chattest

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if built != "" {
			os.RemoveAll(built)
		}
		os.Exit(code)
	}))
}
