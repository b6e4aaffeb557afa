package websocket

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain runs the tests or, with the argument "talk", the server that they start.
func TestMain(m *testing.M) {
	if len(os.Args) == 6 && os.Args[1] == "talk" {
		os.Exit(talk(os.Args[2], os.Args[3], os.Args[4], os.Args[5]))
	}
	// a server under the race detector exits as fast as without
	_ = os.Setenv("GORACE", "atexit_sleep_ms=0")
	goleak.VerifyTestMain(m)
}
