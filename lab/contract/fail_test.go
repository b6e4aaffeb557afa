package contract

import (
	"errors"
	"testing"
)

func TestTryReturnsTheErrorThatEndedTheCheck(t *testing.T) {
	cause := errors.New("lost")
	err := Try(func() {
		During("echo", func() {
			InParallel(3, func(i int) {
				if i > 0 {
					Failf("connection %d: %w", i, cause)
				}
			})
		})
		t.Error("got code run after a failure, want it skipped")
	})
	if err == nil || err.Error() != "echo: connection 1: lost" || !errors.Is(err, cause) {
		t.Errorf("got %v, want the first error by number: echo: connection 1: lost", err)
	}
	if err := Try(func() { Must(nil) }); err != nil {
		t.Errorf("got %v from a function that returns, want nil", err)
	}
}

func TestTryPassesOtherPanicsOn(t *testing.T) {
	defer func() {
		if got := recover(); got != "a defect" {
			t.Errorf("got the panic %v, want the original", got)
		}
	}()
	_ = Try(func() { panic("a defect") })
}
