package log

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// childVariable makes the test binary another process that works on a room: see process_test.go.
const childVariable = "WEIR_LOG_TEST_CHILD"

func TestMain(m *testing.M) {
	if role := os.Getenv(childVariable); role != "" {
		os.Exit(child(role, os.Args[1:]))
	}
	goleak.VerifyTestMain(m)
}
