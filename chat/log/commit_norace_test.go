//go:build linux && !race

package log

import (
	"testing"

	"golang.org/x/sys/unix"
)

// A file system that copies on write needs space for the store of COMMITTED. Without it the store
// faults; under the race detector, which makes the store, that ends the process.
func TestABatchWhoseCommittedCannotBeStoredStaysRefused(t *testing.T) {
	wantRefusedForGood(t, func(call, _ string, mapped []byte) error {
		if call == "sync" {
			return unix.Mprotect(mapped, unix.PROT_READ)
		}
		return nil
	})
}
