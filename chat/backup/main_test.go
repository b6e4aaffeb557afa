package backup

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// writerVariable makes the test binary a process that writes to rooms: see
// TestCopiesDuringWritesArePrefixes.
const writerVariable = "WEIR_BACKUP_TEST_WRITER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(writerVariable); dir != "" {
		os.Exit(writer(dir))
	}
	goleak.VerifyTestMain(m)
}
