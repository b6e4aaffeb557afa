//go:build !linux

package netsim

import (
	"testing"

	"go.uber.org/goleak"
)

// wrapped are the tests: without Linux there is no browser.
func wrapped(m *testing.M) goleak.TestingM { return m }
