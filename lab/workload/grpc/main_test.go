package grpc

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain runs the tests or, with the argument "serve", the gRPC server that they start, with or
// without a fault, a certificate and its key.
func TestMain(m *testing.M) {
	if len(os.Args) >= 4 && os.Args[1] == "serve" {
		os.Exit(serve(os.Args[2], os.Args[3], os.Args[4:]))
	}
	// a server under the race detector exits as fast as without
	_ = os.Setenv("GORACE", "atexit_sleep_ms=0")
	goleak.VerifyTestMain(m)
}
