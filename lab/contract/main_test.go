package contract

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain runs the tests or, with the argument "as", the server that the tests start ("web": the
// HTTP server, "chat": the chat server, "stack": the stack), with or without a fault.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "as" {
		os.Exit(serveWith(os.Args[2:]))
	}
	if len(os.Args) > 1 && os.Args[1] == "web" {
		os.Exit(serveWeb(os.Args[2:]))
	}
	if len(os.Args) > 1 && os.Args[1] == "chat" {
		os.Exit(serveChat(os.Args[2:]))
	}
	if len(os.Args) == 4 && os.Args[1] == "stack" {
		serveStack(os.Args[2], os.Args[3])
	}
	// a server under the race detector exits as fast as without
	_ = os.Setenv("GORACE", "atexit_sleep_ms=0")
	goleak.VerifyTestMain(m)
}
