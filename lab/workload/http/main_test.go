package http

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain runs the tests or, with the argument "web" or "silent", a server that they start, with
// or without a fault.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "web" {
		os.Exit(serveWeb(os.Args[2:]))
	}
	if len(os.Args) == 3 && os.Args[1] == "silent" {
		os.Exit(listenSilently(os.Args[2]))
	}
	// a server under the race detector exits as fast as without
	_ = os.Setenv("GORACE", "atexit_sleep_ms=0")
	goleak.VerifyTestMain(m)
}
