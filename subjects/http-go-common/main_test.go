package main

import (
	"testing"

	"go.uber.org/goleak"
)

// The contract tests the program's behaviour, as that of the other subjects.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
